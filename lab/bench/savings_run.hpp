// savings_run: compares the savings that `wattle savings` projects for right sizes and sleep with those of the week
// after, and counts how often its interval held.
// Plays    per fleet, the same weeks of pods twice: requests stay, and the fleet is packed each day for the projection
//          (sim/world/request_setter); then the controller's rule sets requests
// Truth    watts of the two runs, as the world knows them, week by week; for sleep, the idle watts of the nodes asleep
//          in the first run, hour by hour, without transitions
// Errors   those of contestants
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/bench/bench.hpp"

namespace wattle::sim::consolidation {

struct ProjectedSaving {
  stats::Interval projected_w;  // at the beginning of the week
  double saved_w = 0;
  bool held() const { return projected_w.low <= saved_w && saved_w <= projected_w.high; }
};
struct SavingsWeek {
  ProjectedSaving requests, sleep;
  double fleet_w = 0;
};

struct SavingsRun {
  std::uint64_t seed = 0;
  std::vector<SavingsWeek> weeks;
};

// Runs once per seed. Uses only these of the bench's options: the episode's, the first number of nodes, the seeds and
// the first rule.
Result<std::vector<SavingsRun>> run_savings(const Dataset& data, const BenchOptions& options, std::size_t weeks);
// A row for each week of each fleet and lever, then the share of weeks in which each interval held.
std::string savings_table(const std::vector<SavingsRun>& runs);

}  // namespace wattle::sim::consolidation
