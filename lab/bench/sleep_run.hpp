// sleep_run: an episode on which nodes sleep by a rule: placement/sleep as the controller runs it, or a rule to compare
// with. All rules have the same pods and transitions, and all but kube-default bind in the order of watts per place
// (lab/bench/sleep_cluster).
// kube-default no node sleeps, and pods bind by kube-scheduler's default score
// always-on no node sleeps
// slurm-N  a node sleeps after N idle minutes, and wakes for a pod that fits on no awake node (Slurm's SuspendTime)
// dpm      a node sleeps if it was requested to less than 45% over 40 minutes, is empty, and the rest then stays below
//          81%; one wakes if the awake nodes were requested to more than 81% over 5 minutes, or for a pod (VMware DPM,
//          without its migration)
// wattle   rules, plan and drains of placement/sleep; -no-drains: without drains; -no-spare: without drains and warm
//          spares
// clairvoyant each idle gap of always-on in which a sleep saves energy is slept through, without a wait; -moves: and
//          each minute every pod moves to the first node of the order with room, at no cost
// Units    in names
// Errors   not_found: no such rule
// Threads  pure function; the same arguments give the same figures
#pragma once

#include <array>
#include <string>

#include "common/result.hpp"
#include "lab/bench/sleep_cluster.hpp"

namespace wattle::sim::consolidation {

inline constexpr std::array kSleepRules{"kube-default",     "always-on", "slurm-5",     "slurm-10",
                                        "slurm-30",         "slurm-60",  "dpm",         "wattle-no-spare",
                                        "wattle-no-drains", "wattle",    "clairvoyant", "clairvoyant-moves"};

Result<SleepFigures> run_sleep(const SleepEpisode& episode, const std::string& rule, placement::sleep::Depth depth);

}  // namespace wattle::sim::consolidation
