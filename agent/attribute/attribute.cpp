#include "agent/attribute/attribute.hpp"

#include <algorithm>
#include <limits>

#include "common/stats/exact_split.hpp"

namespace wattle::agent {

namespace {
__extension__ using U128 = unsigned __int128;

bool has_package(const CpuUse& use, unsigned package) { return package < use.by_package.size(); }

// Returns the root's part of the package's usage, in proportion to its part of all usage.
std::uint64_t as_the_rest(const CpuUse& root, const CpuUse& total, unsigned package) {
  if (total.cpu_us == 0) return 0;
  const U128 part = static_cast<U128>(total.by_package[package]) * std::min(root.cpu_us, total.cpu_us);
  return static_cast<std::uint64_t>(part / total.cpu_us);
}
}  // namespace

const Attribution& Attributor::attribute(std::span<const EnergyPool> pools, std::span<const CpuUse> roots,
                                         const CpuUse& total) {
  result_.shares_uj.assign(roots.size(), 0);
  result_.idle_uj = result_.unattributed_uj = 0;
  for (const auto& pool : pools) share(pool, roots, total);
  return result_;
}

void Attributor::share(const EnergyPool& pool, std::span<const CpuUse> roots, const CpuUse& total) {
  const std::uint64_t idle_uj = std::min(pool.idle_uj, pool.energy_uj);
  const std::uint64_t dynamic_uj = pool.energy_uj - idle_uj;
  result_.idle_uj += idle_uj;
  const bool by_package = pool.package && has_package(total, *pool.package);
  weights_.clear();
  std::uint64_t rest = by_package ? total.by_package[*pool.package] : total.cpu_us;
  for (const auto& root : roots) {
    if (!by_package)
      weights_.push_back(root.cpu_us);
    else
      weights_.push_back(has_package(root, *pool.package) ? root.by_package[*pool.package]
                                                          : as_the_rest(root, total, *pool.package));
    rest -= std::min(rest, weights_.back());
  }
  weights_.push_back(rest);
  stats::split_exactly_into(dynamic_uj, weights_, shares_, order_, remainders_);
  // Without any known usage the energy cannot be attributed.
  const bool nothing_ran = std::all_of(weights_.begin(), weights_.end(), [](auto weight) { return weight == 0; });
  result_.unattributed_uj += nothing_ran ? dynamic_uj : shares_.back();
  for (std::size_t i = 0; i < roots.size(); ++i) result_.shares_uj[i] += shares_[i];
}

void Attributor::attribute_below(WorkloadValues& root) {
  if (root.containers.empty() || !root.energy_uj) return;
  weights_.clear();
  std::uint64_t rest_us = root.cpu_usage_us.value_or(0);
  for (const ContainerValues& container : root.containers) {
    weights_.push_back(container.cpu_usage_us);
    rest_us -= std::min(rest_us, container.cpu_usage_us);
  }
  weights_.push_back(rest_us);
  stats::split_exactly_into(*root.energy_uj, weights_, shares_, order_, remainders_);
  for (std::size_t i = 0; i < root.containers.size(); ++i) root.containers[i].energy_uj = shares_[i];
}

void IdlePower::observe(double power_w, double utilisation_ratio) {
  if (!(power_w >= 0)) return;
  const double at_load = shape_.power_w(utilisation_ratio);
  const double implied = at_load > 0 ? power_w * shape_.idle_w / at_load : power_w;
  // Treats close utilisations as equal: the lowest of their powers is the least disturbed.
  constexpr double kSame_ratio = 0.02;
  if (utilisation_ratio < lowest_ratio_ - kSame_ratio) {
    idle_w_ = implied;
  } else if (utilisation_ratio <= lowest_ratio_ + kSame_ratio) {
    idle_w_ = std::min(idle_w_.value_or(std::numeric_limits<double>::infinity()), implied);
  }
  lowest_ratio_ = std::min(lowest_ratio_, utilisation_ratio);
}

}  // namespace wattle::agent
