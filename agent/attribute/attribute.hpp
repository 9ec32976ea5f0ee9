// attribute: a node's energy over an interval, told apart by workload: sum(shares) + idle + unattributed = measured,
// exactly. Units    uJ; us of CPU time as the measure of a workload's part Threads  pure; IdlePower single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/collect/estimate.hpp"
#include "common/clock.hpp"

namespace wattle::agent {

struct Attribution {
  std::vector<std::uint64_t> shares_uj;  // one per workload
  std::uint64_t idle_uj = 0;
  std::uint64_t unattributed_uj = 0;  // what the kernel and cgroups that are nobody's used
};

// `idle_uj` is bounded by the measured energy. `usage_us` is of disjoint workload roots, ended ones included;
// `total_usage_us` of all that ran. What the roots used beyond the total (clocks differ a little) makes the total
// larger, not the shares.
class Attributor {
 public:
  const Attribution& attribute(std::uint64_t measured_uj, std::uint64_t idle_uj,
                               std::span<const std::uint64_t> usage_us, std::uint64_t total_usage_us);

 private:
  Attribution result_;
  std::vector<std::uint64_t> weights_, remainders_;
  std::vector<std::size_t> order_;
};

// What the machine would draw with nothing to do, learned from what it draws: the power at the lowest utilisation seen,
// less what the shape of the power model says that utilisation costs.
class IdlePower {
 public:
  explicit IdlePower(PowerModel shape) : shape_(std::move(shape)) {}
  void observe(double power_w, double utilisation_ratio);
  // Absent before the first observation.
  std::optional<double> idle_w() const { return idle_w_; }

 private:
  PowerModel shape_;
  std::optional<double> idle_w_;
  double lowest_ratio_ = 2;
};

}  // namespace wattle::agent
