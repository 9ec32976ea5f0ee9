// drpc_reward: what a minute is worth by DRPC's reward, kept to compare with: within the target nothing but use near three quarters
// counts, and far beyond it all is worth nothing.
// Source   Bai et al., DRPC: Rqos / Rutil; Rqos = 1 while p99 is within the target, else exp(-((p99 - target) / target)^2); Rutil = 1 + mean
//          |use - 0.75| of CPU and memory
// Units    p99 over target; used over granted. A reward is within 0..1
// Errors   none
// Threads  pure functions
#pragma once

#include <optional>

#include "models/provision/choice.hpp"

namespace wattle::models::provision {

// What a teacher learns by: the cost of a minute beyond the work that came in it, or DRPC's.
enum class TeacherReward { waste, drpc };

// `memory_use` absent: memory is left alone, and the mean is of CPU.
double drpc_reward(double p99_over_target, double cpu_use, std::optional<double> memory_use);
// Of a minute whose latency is known.
double drpc_reward(const ServiceMinute& minute, bool memory);

}  // namespace wattle::models::provision
