#include "actuator/protection_rule.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::actuator {

namespace {
constexpr Duration kStepEvery = std::chrono::minutes(1);
constexpr double kUp = 0.2, kDown = 0.05;
constexpr double kSame = 0.02;  // each write costs systemd a file, so smaller changes are left out
}  // namespace

std::int64_t ProtectionRule::observe(std::uint64_t low_events, std::int64_t usual_bytes, std::int64_t most_bytes,
                                     MonoTime now) {
  bytes_ = std::min(bytes_, most_bytes);
  if (!low_events_) {
    low_events_ = low_events;
    stepped_at_ = now;
  }
  if (now - stepped_at_ < kStepEvery) return bytes_;
  const bool broken = low_events > *low_events_;
  low_events_ = low_events;
  stepped_at_ = now;
  const auto target = static_cast<double>(std::min(usual_bytes, most_bytes)), is = static_cast<double>(bytes_);
  double next = is;
  if (broken)
    next = is * (1 - kDown);
  else if (target > is * (1 + kSame))
    next = std::min(target, is + kUp * target);
  else if (target < is * (1 - kSame))
    next = std::max(target, is * (1 - kDown));
  bytes_ = static_cast<std::int64_t>(std::ceil(next));
  bytes_ = std::min(bytes_, most_bytes);
  return bytes_;
}

}  // namespace wattle::actuator
