// attribute: a node's energy over an interval, told apart by workload: sum(shares) + idle + unattributed = measured,
// exactly, in each pool and so in all.
// Units    uJ; us of CPU time, or any weight that is alike for all (cycles), as the measure of a workload's part
// Threads  pure; IdlePower single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agent/collect/estimate.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

// What one workload root, or the whole machine, used of the processors over the interval.
struct CpuUse {
  std::uint64_t cpu_us = 0;
  // Of socket i (its physical_package_id): cycles or us, the same unit for all roots and the total. Empty: not known.
  std::span<const std::uint64_t> by_package;
};

// Energy that is shared out by one measure: a package with its DRAM, or what the machine drew beyond its packages.
struct EnergyPool {
  std::optional<unsigned> package;  // socket; absent: of the machine as a whole
  std::uint64_t energy_uj = 0;
  std::uint64_t idle_uj = 0;  // what it would have drawn with nothing to do; bounded by energy_uj
};

struct Attribution {
  std::vector<std::uint64_t> shares_uj;  // one per workload
  std::uint64_t idle_uj = 0;
  std::uint64_t unattributed_uj = 0;  // what the kernel and cgroups that are nobody's used
};

class Attributor {
 public:
  // `roots` are disjoint, ended ones included; `total` is of all that ran. A pool of a package goes by what ran on that
  // package where the total tells it, else by CPU time; a root that does not tell is taken to have run everywhere as
  // the rest did. What the roots used beyond the total (clocks differ a little) makes the total larger, not the shares.
  // What the answer points at lives until the next call.
  const Attribution& attribute(std::span<const EnergyPool> pools, std::span<const CpuUse> roots, const CpuUse& total);
  // Of what a root was given, what its containers have: joules as CPU time. What no container used is the root's alone.
  void attribute_below(WorkloadValues& root);

 private:
  void share(const EnergyPool& pool, std::span<const CpuUse> roots, const CpuUse& total);

  Attribution result_;
  std::vector<std::uint64_t> weights_, shares_, remainders_;
  std::vector<std::size_t> order_;
};

// What a pool would draw with nothing to do, learned from what it draws: the power at the lowest utilisation seen,
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
