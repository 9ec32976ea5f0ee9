#include "actuator/memory_rule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "actuator/throttled_wait.hpp"

namespace wattle::actuator {

namespace {
constexpr std::size_t kSamples = 720;      // an hour, one sample every 5 s
constexpr std::size_t kPeakSamples = 120;  // ten minutes of them
constexpr double kQuantile = 0.95, kStep = 0.05;
constexpr double kStallRatio = 0.01, kRefaultRatio = 0.01;
constexpr double kPageBytes = 4096;
constexpr Duration kWarmUp = std::chrono::minutes(10);
}  // namespace

bool MemoryRule::hurts(const MemoryUse& use, MonoTime now) const {
  const double elapsed_s = seconds(now - last_at_);
  if (use.high_events > last_->high_events) return true;
  const auto since_s = [](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) / 1e6 : 0;
  };
  if (use.stall_us && last_->stall_us) {
    const double own_s = throttled_wait_s(since_s(last_->throttled_us, use.throttled_us),
                                          since_s(last_->used_us, use.used_us), elapsed_s);
    if (since_s(*last_->stall_us, *use.stall_us) - own_s > kStallRatio * elapsed_s) return true;
  }
  if (use.refaults <= last_->refaults) return false;
  const double pages = static_cast<double>(use.working_set_bytes) / kPageBytes;
  return static_cast<double>(use.refaults - last_->refaults) > kRefaultRatio * pages * elapsed_s;
}

std::int64_t MemoryRule::target_bytes(double margin_ratio) const {
  if (working_sets_.empty()) return 0;
  auto sorted = working_sets_;
  const auto at = static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return static_cast<std::int64_t>(static_cast<double>(sorted[static_cast<std::size_t>(at)]) * (1 + margin_ratio));
}

double MemoryRule::used_over_peak() const {
  std::uint64_t peak = 0;
  for (std::size_t back = 1; back <= std::min(kPeakSamples, working_sets_.size()); ++back)
    peak = std::max(peak, working_sets_[(next_ + kSamples - back) % kSamples]);
  return last_ && peak > 0 ? static_cast<double>(last_->working_set_bytes) / static_cast<double>(peak) : 1;
}

std::optional<std::int64_t> MemoryRule::observe(const MemoryUse& use, MonoTime now, double margin_ratio) {
  if (!last_) begun_at_ = now;
  hurt_ = last_ && now > last_at_ && hurts(use, now);
  if (hurt_) {
    high_bytes_.reset();
    begun_at_ = now;
  }
  last_ = use;
  last_at_ = now;
  if (working_sets_.size() < kSamples)
    working_sets_.push_back(use.working_set_bytes);
  else
    working_sets_[next_] = use.working_set_bytes;
  next_ = (next_ + 1) % kSamples;
  if (now - begun_at_ < kWarmUp) return std::nullopt;
  const std::int64_t target = std::max(target_bytes(margin_ratio), static_cast<std::int64_t>(use.working_set_bytes));
  if (!high_bytes_) {
    high_bytes_ = std::max(target, static_cast<std::int64_t>(use.current_bytes));
    stepped_at_ = now;
  } else if (target > *high_bytes_) {
    high_bytes_ = target;
  } else if (now - stepped_at_ >= std::chrono::minutes(1)) {
    const auto lower = static_cast<std::int64_t>(std::ceil(static_cast<double>(*high_bytes_) * (1 - kStep)));
    high_bytes_ = std::max(target, lower);
    stepped_at_ = now;
  }
  return high_bytes_;
}

void MemoryLooks::add(const MemoryUse& use, std::optional<std::int64_t> high_bytes, bool hurt) {
  ++looks_;
  hurt_ += hurt;
  used_bytes_ = std::max(used_bytes_, use.working_set_bytes);
  granted_bytes_ += high_bytes ? static_cast<double>(*high_bytes) : static_cast<double>(use.current_bytes);
}

std::optional<actuation::MinuteOfMemory> MemoryLooks::end_minute(double used_over_peak) {
  const MemoryLooks ended = std::exchange(*this, {});
  if (ended.looks_ == 0) return std::nullopt;
  const auto looks = static_cast<double>(ended.looks_);
  actuation::MinuteOfMemory reported;
  reported.granted_bytes = static_cast<std::uint64_t>(ended.granted_bytes_ / looks);
  reported.used_bytes = ended.used_bytes_;
  reported.used_over_peak = used_over_peak;
  reported.short_ratio = static_cast<double>(ended.hurt_) / looks;
  return reported;
}

}  // namespace wattle::actuator
