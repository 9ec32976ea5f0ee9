// drpc_reward: DRPC's reward of a minute, for comparison: within the latency target it depends only on how close usage
// is to three quarters; far beyond the target it is zero.
// Source   Bai et al., DRPC: Rqos / Rutil; Rqos = 1 while p99 is within the target, else exp(-((p99 - target) /
//          target)^2); Rutil = 1 + mean |use - 0.75| of CPU and memory
// Units    p99 over target; used over granted. A reward is within 0..1
// Errors   none
// Threads  pure functions
#pragma once

#include <optional>

#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

// Reward of a teacher: the cost of a minute minus the work that arrived in it, or DRPC's.
enum class TeacherReward { waste, drpc };

// `memory_use` is unset if memory is not managed; then only CPU counts.
double drpc_reward(double p99_over_target, double cpu_use, std::optional<double> memory_use);
// Reward of a minute with known latency.
double drpc_reward(const ServiceMinute& minute, bool memory);

}  // namespace wattle::models::provision
