#include "agent/attribute/attribute.hpp"

#include <algorithm>
#include <limits>

#include "agent/attribute/shares.hpp"

namespace wattle::agent {

const Attribution& Attributor::attribute(std::uint64_t measured_uj, std::uint64_t idle_uj,
                                         std::span<const std::uint64_t> usage_us, std::uint64_t total_usage_us) {
  result_.idle_uj = std::min(idle_uj, measured_uj);
  const std::uint64_t dynamic_uj = measured_uj - result_.idle_uj;
  weights_.assign(usage_us.begin(), usage_us.end());
  std::uint64_t rest_us = total_usage_us;
  for (const auto usage : usage_us) rest_us -= std::min(rest_us, usage);
  weights_.push_back(rest_us);
  split_exactly_into(dynamic_uj, weights_, result_.shares_uj, order_, remainders_);
  result_.unattributed_uj = result_.shares_uj.back();
  result_.shares_uj.pop_back();
  // Nothing ran, as far as we can tell: nobody is to blame for the energy.
  if (std::all_of(weights_.begin(), weights_.end(), [](auto w) { return w == 0; }))
    result_.unattributed_uj = dynamic_uj;
  return result_;
}

void IdlePower::observe(double power_w, double utilisation_ratio) {
  if (!(power_w >= 0)) return;
  const double at_load = shape_.power_w(utilisation_ratio);
  const double implied = at_load > 0 ? power_w * shape_.idle_w / at_load : power_w;
  // Close utilisations are one: the lowest of their powers is the least disturbed.
  constexpr double kSame_ratio = 0.02;
  if (utilisation_ratio < lowest_ratio_ - kSame_ratio) {
    idle_w_ = implied;
  } else if (utilisation_ratio <= lowest_ratio_ + kSame_ratio) {
    idle_w_ = std::min(idle_w_.value_or(std::numeric_limits<double>::infinity()), implied);
  }
  lowest_ratio_ = std::min(lowest_ratio_, utilisation_ratio);
}

}  // namespace wattle::agent
