// sleep_bench: compares rules that put nodes to sleep, over paired seeds: placement/sleep as the controller runs it,
// and others. All rules have the same pods and transitions, and all but kube-default bind in the order of watts per
// place (lab/bench/sleep_cluster).
// kube-default no node sleeps, and pods bind by kube-scheduler's default score
// always-on no node sleeps
// slurm-N  a node sleeps after N idle minutes, and wakes for a pod that fits on no awake node (Slurm's SuspendTime)
// dpm      a node sleeps if it was requested to less than 45% over 40 minutes, is empty, and the rest then stays below
//          81%; one wakes if the awake nodes were requested to more than 81% over 5 minutes, or for a pod (VMware DPM,
//          without its migration)
// wattle   rules, plan and drains of placement/sleep; -no-drains: without drains; -no-spare: without drains and warm
//          spares
// clairvoyant nodes sleep through each idle gap of always-on in which a sleep saves energy, without a wait; -moves: and
//          each minute every pod moves to the first node of the order with room, at no cost
// Errors   not_found: no such rule
// Threads  single owner; the same options give the same bytes
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/bench/sleep_cluster.hpp"

namespace wattle::sim::consolidation {

inline constexpr std::array kSleepRules{"kube-default",     "always-on", "slurm-5",     "slurm-10",
                                        "slurm-30",         "slurm-60",  "dpm",         "wattle-no-spare",
                                        "wattle-no-drains", "wattle",    "clairvoyant", "clairvoyant-moves"};

Result<SleepFigures> run_sleep(const SleepEpisode& episode, const std::string& rule, placement::sleep::Depth depth);

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
