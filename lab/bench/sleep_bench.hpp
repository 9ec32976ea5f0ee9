// sleep_bench: compares rules that put nodes to sleep, over paired seeds.
// Errors   those of run_sleep
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/bench/sleep_run.hpp"

namespace wattle::sim::consolidation {

struct SleepBenchOptions {
  SleepEpisodeOptions episode;
  std::vector<std::size_t> nodes{10};
  std::uint64_t first_seed = 0;
  std::size_t seeds = 10;
  std::vector<std::string> rules{kSleepRules.begin(), kSleepRules.end()};
  placement::sleep::Depth depth = placement::sleep::Depth::off;
};

// The tables for people, one per number of nodes. Energy is compared with kube-default, always-on, dpm and both
// clairvoyants, where they are among the rules, and with the slurm rule that uses the least on each fleet.
Result<std::string> sleep_bench(const Dataset& data, const SleepBenchOptions& options);

}  // namespace wattle::sim::consolidation
