// judge: the controller's rule of requests (placement/request_rule) against the Vertical Pod Autoscaler's, on histories of use.
// Plays    each machine of a day (sim/scenarios/demand_trace) as one workload of one pod, minute by minute; both rules see
//          the same minutes, and what they would request holds from the next one on. Of the day 13 hours are learned
//          from, the rest is judged
// Gives    slack: what was requested and not used; under: minutes that used more than was requested, and by how much
// Units    cores; minutes; shares 0..1
// Errors   none
// Threads  pure functions
#pragma once

#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "placement/request_rule.hpp"
#include "sim/scenarios/demand_trace.hpp"

namespace wattle::sim::requests {

struct JudgeOptions {
  placement::RequestOptions rule;
  double cores = 4;  // of each machine, which it requests at first
};

// Means over the minutes and machines that are judged.
struct RuleFigures {
  double requested_cores = 0, slack_cores = 0, short_cores = 0;
  double under_ratio = 0;
  double changes_per_day = 0;
};

struct DayResult {
  std::string day;
  std::size_t machines = 0;
  double used_cores = 0;
  RuleFigures wattle, vpa;
  RuleFigures constant;  // one request a machine, which leaves no more of its judged minutes under than vpa's mean
  stats::Interval slack_against_vpa;  // cores, machines resampled
};

DayResult judge_day(const JudgeOptions& options, const consolidation::DemandDay& day);

std::string results_text(const JudgeOptions& options, const std::vector<DayResult>& results);
std::string results_json(const JudgeOptions& options, const std::vector<DayResult>& results);

}  // namespace wattle::sim::requests
