// judge: compares the controller's rule of requests (provision/requests/request_rule) with the Vertical Pod
// Autoscaler's on usage histories.
// Plays    each machine of a day (sim/scenarios/demand_trace) as one workload of one pod, minute by minute. Both rules
//          get the same minutes, and their request applies from the next one on. The first 13 hours of the day are for
//          learning, the rest is judged
// Gives    slack: requested but not used; under: minutes that used more than was requested, and by how much
// Units    cores; minutes; shares 0..1
// Errors   none
// Threads  pure functions
#pragma once

#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "provision/requests/request_rule.hpp"
#include "sim/scenarios/demand_trace.hpp"

namespace wattle::sim::requests {

struct JudgeOptions {
  placement::RequestOptions rule;
  double cores = 4;  // of each machine, which is its initial request
};

// Means over the judged minutes and machines.
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
  RuleFigures constant;  // a constant request per machine, with at most as many judged minutes under as vpa's mean
  stats::Interval slack_against_vpa;  // cores, resampled over machines
};

DayResult judge_day(const JudgeOptions& options, const consolidation::DemandDay& day);

std::string results_text(const JudgeOptions& options, const std::vector<DayResult>& results);
std::string results_json(const JudgeOptions& options, const std::vector<DayResult>& results);

}  // namespace wattle::sim::requests
