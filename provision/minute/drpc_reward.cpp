#include "provision/minute/drpc_reward.hpp"

#include <cmath>

namespace wattle::models::provision {

namespace {
constexpr double kAim = 0.75;
}

double drpc_reward(double p99_over_target, double cpu_use, std::optional<double> memory_use) {
  const double late = p99_over_target - 1;
  const double qos = late <= 0 ? 1 : std::exp(-late * late);
  const double cpu = std::abs(cpu_use - kAim);
  return qos / (1 + (memory_use ? (cpu + std::abs(*memory_use - kAim)) / 2 : cpu));
}

double drpc_reward(const ServiceMinute& minute, bool memory) {
  const double late = minute.latency ? minute.latency->p99_over_target : 1;
  // The grant is the largest working set of ten minutes times 1 + ratio.
  const double memory_use = minute.working_over_peak / (1 + minute.now.memory_ratio);
  return drpc_reward(late, minute.used_over_granted, memory ? std::optional(memory_use) : std::nullopt);
}

}  // namespace wattle::models::provision
