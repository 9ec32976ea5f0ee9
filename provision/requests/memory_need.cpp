#include "provision/requests/memory_need.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wattle::placement {
namespace {

constexpr double kSpan_s = 600, kLatestSpan_s = 1e12, kMostNeeded = 1e18;
constexpr std::int64_t kSpansOfDay = 144, kSpansBack = 6;  // tolerance for a clock that is set back
constexpr std::size_t kLeastSpans = 3;                     // per hour, for a comparison
constexpr double kLeastRise = 0.05, kNeedStep = 1.025;
constexpr double kMostMargin = 0.25;

// Returns the known values.
std::vector<double> known_of(std::span<const double> spans) {
  std::vector<double> known;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(known), [](double value) { return value > 0; });
  return known;
}

double level_of(std::vector<double> values) {
  const auto third = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 3);
  std::nth_element(values.begin(), third, values.end());
  return *third;
}

double in_steps(double bytes) { return std::pow(kNeedStep, std::ceil(std::log(bytes) / std::log(kNeedStep) - 1e-9)); }

}  // namespace

std::span<const double> MemoryNeed::hour_before() const { return std::span(spans_).first(kHour); }
std::span<const double> MemoryNeed::last_hour() const { return std::span(spans_).last(kHour); }

void MemoryNeed::move_to(std::int64_t slot) {
  const auto passed = static_cast<std::size_t>(std::min<std::int64_t>(slot - newest_, kHour + 1));
  std::shift_left(spans_.begin(), spans_.end(), static_cast<std::ptrdiff_t>(passed));
  std::fill(spans_.end() - static_cast<std::ptrdiff_t>(passed), spans_.end(), 0.0);
  newest_ = slot;
}

void MemoryNeed::add(double needed, double at_s) {
  if (!(needed > 0 && needed <= kMostNeeded && at_s >= 0 && at_s < kLatestSpan_s)) return;
  const auto slot = static_cast<std::int64_t>(at_s / kSpan_s);
  if (slot <= newest_ - kSpansBack) *this = MemoryNeed();
  if (slot > newest_) move_to(slot);
  spans_.back() = std::max(spans_.back(), needed);
  const std::int64_t day = newest_ / kSpansOfDay;
  Day& today = days_[static_cast<std::size_t>(day) % kDays];
  if (today.day != day) today = {day, 0, 0};
  today.most = std::max(today.most, needed);
  const auto before = known_of(hour_before());
  if (before.size() >= kLeastSpans) today.rise = std::max(today.rise, needed - level_of(before));
}

std::optional<double> MemoryNeed::wanted(double days) const {
  const auto hour = known_of(last_hour());
  if (hour.empty()) return std::nullopt;
  double most = 0, rise = 0, known = 0;
  const std::int64_t today = newest_ / kSpansOfDay;
  for (const Day& each : days_) {
    if (!(each.most > 0) || each.day > today || today - each.day >= static_cast<std::int64_t>(kDays)) continue;
    known += each.day != today ? 1 : 0;
    most = std::max(most, each.most);
    rise = std::max(rise, each.rise);
  }
  if (known < days) return std::nullopt;
  const double level = level_of(hour);
  const double risen = level + std::max(rise, kLeastRise * level);
  return in_steps(std::max(std::min(risen, most * (1 + kMostMargin)), spans_.back()));
}

void MemoryNeed::pack(PackWriter& out) const {
  out.word(static_cast<std::uint64_t>(newest_));
  for (const double each : spans_) out.real(each);
  for (const Day& each : days_) {
    out.word(static_cast<std::uint64_t>(each.day));
    out.real(each.most);
    out.real(each.rise);
  }
}

void MemoryNeed::unpack(PackReader& in) {
  MemoryNeed read;
  const auto word = [&] {
    const std::uint64_t value = in.word();
    if (value > static_cast<std::uint64_t>(kLatestSpan_s)) in.refuse();
    return in.ok() ? static_cast<std::int64_t>(value) : 0;
  };
  const auto bytes = [&] {
    const double value = in.real();
    if (!(value >= 0 && value <= kMostNeeded)) in.refuse();
    return value;
  };
  read.newest_ = word();
  for (double& each : read.spans_) each = bytes();
  for (Day& each : read.days_) {
    each.day = word();
    each.most = bytes();
    each.rise = bytes();
  }
  if (in.ok()) *this = read;
}

}  // namespace wattle::placement
