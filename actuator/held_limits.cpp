#include "actuator/held_limits.hpp"

#include <algorithm>
#include <utility>

namespace wattle::actuator {

namespace {
constexpr Duration kRetryEvery = std::chrono::seconds(1);
constexpr Duration kUnitEvery = std::chrono::seconds(5);  // interval of reading systemd, and of lowering a unit's limit
}  // namespace

void HeldLimits::adopt(Target target, const Values& originals, MonoTime now) {
  clear();
  target_ = std::move(target);
  originals_ = originals;
  looked_at_ = now;
  wrote_at_ = now - kUnitEvery;
}

std::optional<std::int64_t> HeldLimits::original_quota_us() const {
  const auto quota = originals_[Knob::quota_us];
  return quota && *quota != kUnlimited ? quota : std::nullopt;
}

bool HeldLimits::set_cpu(CpuLimit next, MonoTime now) {
  if (const auto original = original_quota_us()) next.quota_us = std::min(next.quota_us, *original);
  next.burst_us = std::min(next.burst_us, next.quota_us);
  if (cpu_ == next) return false;
  const bool unit = target_->seam == Seam::unit;
  if (unit && cpu_ && next.quota_us <= cpu_->quota_us && now - wrote_at_ < kUnitEvery) return false;
  wrote_at_ = now;
  cpu_ = next;
  return true;
}

Result<Outcome> HeldLimits::write(Ledger& ledger, MonoTime now) {
  Values wanted;
  if (cpu_) {
    wanted[Knob::quota_us] = cpu_->quota_us;
    if (originals_[Knob::burst_us]) wanted[Knob::burst_us] = cpu_->burst_us;
  }
  wanted[Knob::high_bytes] = high_bytes;
  wanted[Knob::low_bytes] = low_bytes;
  auto outcome = ledger.set(*target_, wanted, now);
  if (!outcome) return outcome;
  looked_at_ = now;
  slow_since_.reset();
  return outcome;
}

std::optional<Result<Outcome>> HeldLimits::look(Ledger& ledger, MonoTime now) {
  if (slow() || now - looked_at_ < (target_->seam == Seam::unit ? kUnitEvery : kRetryEvery)) return std::nullopt;
  looked_at_ = now;
  return ledger.look(*target_, now);
}

bool HeldLimits::waits(const Error& error, MonoTime now) {
  if (error.code != Errc::timeout && error.code != Errc::unavailable) return false;
  if (!slow_since_) slow_since_ = now;
  if (now - *slow_since_ >= kSlowPatience) return false;
  retry_at_ = now + kRetryEvery;
  return true;
}

}  // namespace wattle::actuator
