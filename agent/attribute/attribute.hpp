// attribute: divides a node's energy over an interval among workloads: sum(shares) + idle + unattributed = measured,
// exactly, in each pool and so in total.
// Units    uJ; a workload's part is measured in us of CPU time, or in any weight with the same unit for all (cycles)
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

// Processor usage of one workload root, or the whole machine, over the interval.
struct CpuUse {
  std::uint64_t cpu_us = 0;
  // Usage by socket (physical_package_id) in cycles or us, in the same unit for all roots and the total. Empty if
  // unknown.
  std::span<const std::uint64_t> by_package;
};

// Energy that is divided by one measure: a package with its DRAM, or the machine's energy beyond its packages.
struct EnergyPool {
  std::optional<unsigned> package;  // socket; no value: the whole machine
  std::uint64_t energy_uj = 0;
  std::uint64_t idle_uj = 0;  // energy of an idle machine; bounded by energy_uj
};

struct Attribution {
  std::vector<std::uint64_t> shares_uj;  // one per workload
  std::uint64_t idle_uj = 0;
  std::uint64_t unattributed_uj = 0;  // used by the kernel and by cgroups of no workload
};

class Attributor {
 public:
  // `roots` are disjoint and include ended ones; `total` includes all usage. A package's pool is divided by usage on
  // that package if the total has it, otherwise by CPU time. A root without usage per package is assumed to use
  // packages in the same proportion as the others. If the roots exceed the total (clocks differ slightly), the total is
  // raised and the shares are not. The result is valid until the next call.
  const Attribution& attribute(std::span<const EnergyPool> pools, std::span<const CpuUse> roots, const CpuUse& total);
  // Divides a root's share among its containers in proportion to their CPU time. The part that no container used stays
  // with the root.
  void attribute_below(WorkloadValues& root);

 private:
  void share(const EnergyPool& pool, std::span<const CpuUse> roots, const CpuUse& total);

  Attribution result_;
  std::vector<std::uint64_t> weights_, shares_, remainders_;
  std::vector<std::size_t> order_;
};

// Learns a pool's idle power from its observed power: the power at the lowest utilisation seen, minus the power model's
// cost of that utilisation.
class IdlePower {
 public:
  explicit IdlePower(PowerModel shape) : shape_(std::move(shape)) {}
  void observe(double power_w, double utilisation_ratio);
  // No value before the first observation.
  std::optional<double> idle_w() const { return idle_w_; }

 private:
  PowerModel shape_;
  std::optional<double> idle_w_;
  double lowest_ratio_ = 2;
};

}  // namespace wattle::agent
