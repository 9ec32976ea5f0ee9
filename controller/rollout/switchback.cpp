#include "controller/rollout/switchback.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace wattle::controller {

bool is_treated(const SwitchbackSchedule& schedule, std::uint64_t number) {
  constexpr double kMost = static_cast<double>(kBlockGroup) - 1;
  const auto treated =
      static_cast<std::size_t>(std::clamp(std::round(schedule.share * static_cast<double>(kBlockGroup)), 1.0, kMost));
  std::mt19937_64 random(schedule.seed ^ (number / kBlockGroup + 1) * 0x9e3779b97f4a7c15ULL);
  std::array<std::uint64_t, kBlockGroup> order{};
  for (std::uint64_t i = 0; i < kBlockGroup; ++i) order[i] = i;
  // Own implementation: std::shuffle differs between libraries, and a restart may use another one.
  for (std::uint64_t i = kBlockGroup; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(treated);
  return std::find(order.begin(), end, number % kBlockGroup) != end;
}

Block block_at(const SwitchbackSchedule& schedule, WallTime now) {
  const Duration since = std::max(Duration{0}, now - schedule.began);
  Block block;
  block.number = static_cast<std::uint64_t>(since / schedule.length);
  block.treated = is_treated(schedule, block.number);
  block.measured = since % schedule.length >= schedule.washout;
  block.left = schedule.length - since % schedule.length;
  return block;
}

}  // namespace wattle::controller
