#include "sim/provision/bandwidth.hpp"

#include <algorithm>

namespace wattle::sim::provision {
namespace {
constexpr std::int64_t kLeastQuotaUs = 1000;
}

void Bandwidth::refill(bool period) {
  const double before = left_s_;
  left_s_ = std::min(left_s_ + quota_s(), quota_s() + static_cast<double>(burst_us_) * 1e-6);
  // A period grants its quota, whether or not it can be saved; a write grants what it adds.
  granted_s_ += period ? quota_s() : std::max(0.0, left_s_ - before);
}

Status Bandwidth::set_quota(std::optional<std::int64_t> quota_us) {
  if (quota_us && *quota_us < kLeastQuotaUs)
    return fail(Errc::out_of_range, "quota " + std::to_string(*quota_us) + " us", "is below 1 ms");
  if (quota_us && burst_us_ > *quota_us)
    return fail(Errc::out_of_range, "quota " + std::to_string(*quota_us) + " us",
                "is below the burst of " + std::to_string(burst_us_) + " us", "lower the burst first");
  if (!quota_us_) left_s_ = 0;
  quota_us_ = quota_us;
  ++writes_;
  if (quota_us_) refill(false);
  return {};
}

Status Bandwidth::set_burst(std::int64_t burst_us) {
  if (burst_us < 0 || (quota_us_ && burst_us > *quota_us_))
    return fail(Errc::out_of_range, "burst " + std::to_string(burst_us) + " us", "is not within the quota",
                "raise the quota first");
  burst_us_ = burst_us;
  ++writes_;
  if (quota_us_) refill(false);
  return {};
}

Status Bandwidth::set(const actuator::CpuLimit& limit) {
  const bool burst_first = burst_us_ > limit.quota_us;
  const auto burst = [&]() -> Status { return limit.burst_us == burst_us_ ? Status{} : set_burst(limit.burst_us); };
  if (burst_first) WATTLE_CHECK(burst());
  if (quota_us_ != limit.quota_us) WATTLE_CHECK(set_quota(limit.quota_us));
  return burst();
}

void Bandwidth::begin_period() {
  if (quota_us_) refill(true);
}

void Bandwidth::grant_period(double seconds) {
  if (quota_us_) granted_s_ -= quota_s();  // for the refill that this replaces
  quota_us_ = kLeastQuotaUs;
  left_s_ = seconds;
  granted_s_ += seconds;
}

std::optional<actuator::CpuLimit> Bandwidth::limit() const {
  if (!quota_us_) return std::nullopt;
  return actuator::CpuLimit{*quota_us_, burst_us_};
}

}  // namespace wattle::sim::provision
