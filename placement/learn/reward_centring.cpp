#include "placement/learn/reward_centring.hpp"

#include <algorithm>
#include <cmath>

#include "common/stats/moments.hpp"

namespace wattle::placement {
namespace {

constexpr double kSpreadRate = 0.01;
constexpr double kLeastSpread = 1e-3;  // in rewards

double rate(double least, std::uint64_t count) {
  return std::max(least, 1.0 / static_cast<double>(std::max<std::uint64_t>(count, 1)));
}

}  // namespace

void RewardCentring::pay(std::span<models::Transition> batch, std::span<const ReturnSums> sums) {
  double rewards = 0, discounts = 0;
  for (const ReturnSums& each : sums) {
    rewards += each.rewards;
    discounts += each.discounts;
  }
  if (++state_.steps == 1 && discounts > 0) state_.centre = rewards / discounts;
  stats::Moments paid;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const double value = scale_ * (sums[i].rewards - centre() * sums[i].discounts);
    batch[i].reward = static_cast<float>(value);
    paid.add(value);
  }
  state_.spread2 += rate(kSpreadRate, state_.steps) * (paid.variance() - state_.spread2);
  const double unit = std::max(kLeastSpread, std::sqrt(state_.spread2));
  for (models::Transition& each : batch) each.unit = static_cast<float>(unit);
}

}  // namespace wattle::placement
