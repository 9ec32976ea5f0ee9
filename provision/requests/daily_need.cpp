#include "provision/requests/daily_need.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace wattle::placement {
namespace {

constexpr double kDailySlot_s = 300, kDailyLatest_s = 1e12;
constexpr std::int64_t kDailySlots = 288, kDailyWeek = 7, kDailyKept = kDailySlots * kDailyWeek;
constexpr std::int64_t kDailyAhead = 12, kDailyRecent = 36, kDailyJust = 6;
constexpr std::size_t kDailyMostMinutes = 1000;  // pods' minutes in a five-minute slot
constexpr double kDailyLeastRatio = 0.7, kDailyMostRatio = 1.5;
constexpr double kDailyFirst = 0.01, kDailyGrowth = 1.05;
constexpr std::size_t kDailyBuckets = 176;

std::uint8_t bucket_of(double needed) {
  const double at = std::log1p(needed * (kDailyGrowth - 1) / kDailyFirst) / std::log(kDailyGrowth);
  return static_cast<std::uint8_t>(1 + std::clamp(at, 0.0, static_cast<double>(kDailyBuckets - 1)));
}

double end_of(std::uint8_t bucket) {
  static const auto ends = [] {
    std::array<double, 256> all{};
    for (std::size_t i = 1; i < all.size(); ++i)
      all[i] = kDailyFirst * (std::pow(kDailyGrowth, static_cast<double>(i)) - 1) / (kDailyGrowth - 1);
    return all;
  }();
  return ends[bucket];
}

// The middle of the bucket.
double need_of(std::uint8_t bucket) {
  return (end_of(bucket) + end_of(static_cast<std::uint8_t>(std::max<int>(bucket, 1) - 1))) / 2;
}

// Returns the smallest value with the share at or below it. `values` must not be empty.
double share_of_values(std::vector<double>& values, double share) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = static_cast<std::ptrdiff_t>(std::clamp(std::floor(share * (last + 1)), 0.0, last));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

struct MeanNeed {
  double sum = 0, count = 0;
  void add(std::uint8_t bucket) {
    if (bucket == 0) return;
    sum += need_of(bucket);
    count += 1;
  }
  double mean() const { return sum / count; }
};

}  // namespace

DailyNeed::DailyNeed() : kept_(static_cast<std::size_t>(kDailyKept), '\0') {}

std::uint8_t DailyNeed::at(std::int64_t slot) const {
  if (slot < 0 || slot >= newest_ || newest_ - slot >= kDailyKept) return 0;
  return static_cast<std::uint8_t>(kept_[static_cast<std::size_t>(slot % kDailyKept)]);
}

void DailyNeed::move_to(std::int64_t slot, double share) {
  if (!minutes_.empty())
    kept_[static_cast<std::size_t>(newest_ % kDailyKept)] =
        static_cast<char>(bucket_of(share_of_values(minutes_, share)));
  minutes_.clear();
  for (std::int64_t each = newest_ + 1; each <= std::min(slot, newest_ + kDailyKept); ++each)
    kept_[static_cast<std::size_t>(each % kDailyKept)] = '\0';
  newest_ = slot;
}

void DailyNeed::add(double needed, double share, double at_s) {
  if (!(needed >= 0 && at_s >= 0 && at_s < kDailyLatest_s)) return;
  const auto slot = static_cast<std::int64_t>(at_s / kDailySlot_s);
  if (slot < newest_ - kDailyAhead) *this = DailyNeed();
  if (slot < newest_) return;
  if (slot > newest_) move_to(slot, share);
  if (minutes_.size() < kDailyMostMinutes) minutes_.push_back(needed);
}

std::optional<double> DailyNeed::wanted(double share, double days, double now_s) const {
  if (!(now_s >= 0 && now_s < kDailyLatest_s)) return std::nullopt;
  const auto now = static_cast<std::int64_t>(now_s / kDailySlot_s);
  std::vector<double> next, just;
  MeanNeed recent, before;
  std::int64_t known = 0;
  for (std::int64_t day = 1; day <= kDailyWeek; ++day) {
    const std::size_t had = next.size();
    for (std::int64_t i = 0; i < kDailyAhead; ++i)
      if (const auto bucket = at(now - day * kDailySlots + i); bucket != 0) next.push_back(need_of(bucket));
    known += 2 * (next.size() - had) >= static_cast<std::size_t>(kDailyAhead) ? 1 : 0;
    for (std::int64_t i = 1; i <= kDailyRecent; ++i) before.add(at(now - day * kDailySlots - i));
  }
  if (next.empty() || static_cast<double>(known) < days) return std::nullopt;
  for (std::int64_t i = 1; i <= kDailyRecent; ++i) {
    const auto bucket = at(now - i);
    recent.add(bucket);
    if (i <= kDailyJust && bucket != 0) just.push_back(need_of(bucket));
  }
  const bool compares = 2 * recent.count >= static_cast<double>(kDailyRecent) && before.count > 0;
  const double ratio = compares ? std::clamp(recent.mean() / before.mean(), kDailyLeastRatio, kDailyMostRatio) : 1;
  constexpr double kDailyMiddle = 0.5;
  const double least = just.empty() ? 0 : share_of_values(just, kDailyMiddle);
  // Rounded up to a bucket, so that a request does not follow every small change.
  return end_of(bucket_of(std::max(ratio * share_of_values(next, share), least)));
}

void DailyNeed::pack(PackWriter& out) const {
  out.word(static_cast<std::uint64_t>(newest_));
  out.text(kept_);
}

void DailyNeed::unpack(PackReader& in) {
  const std::uint64_t newest = in.word();
  std::string kept = in.text();
  if (kept.size() != kept_.size() || newest > static_cast<std::uint64_t>(kDailyLatest_s)) in.refuse();
  if (!in.ok()) return;
  kept_ = std::move(kept);
  newest_ = static_cast<std::int64_t>(newest);
  minutes_.clear();
}

}  // namespace wattle::placement
