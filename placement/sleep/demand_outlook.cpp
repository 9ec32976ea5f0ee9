#include "placement/sleep/demand_outlook.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement::sleep {

namespace {

constexpr Duration kSlot = std::chrono::minutes(5);
constexpr Duration kRecent = std::chrono::hours(1);
constexpr auto kDaysSigned = static_cast<std::int64_t>(DemandOutlook::kDays);
constexpr auto kSlotsSigned = static_cast<std::int64_t>(DemandOutlook::kSlots);

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((-value + by - 1) / by);
}
std::size_t modulo(std::int64_t value, std::int64_t by) {
  return static_cast<std::size_t>(value - by * floor_div(value, by));
}
std::int64_t slot_at(WallTime when) { return floor_div(to_ns(when), kSlot.count()); }

}  // namespace

void DemandOutlook::observe(double requested_cores, WallTime now) {
  if (!std::isfinite(requested_cores) || requested_cores < 0) return;
  while (!recent_.empty() && recent_.back().at > now) recent_.pop_back();  // the clock stepped back
  while (!recent_.empty() && recent_.front().at < now - kRecent) recent_.pop_front();
  recent_.push_back({now, requested_cores});
  const std::int64_t slot = slot_at(now), day = floor_div(slot, kSlotsSigned);
  Slot& of_day = slots_[modulo(slot, kSlotsSigned)];
  const std::size_t at = modulo(day, kDaysSigned);
  if (of_day.day[at] != day) of_day.highest[at] = 0;
  of_day.day[at] = day;
  of_day.highest[at] = std::max(of_day.highest[at], static_cast<float>(requested_cores));
}

double DemandOutlook::highest(WallTime now, Duration past) const {
  double most = 0;
  for (auto each = recent_.rbegin(); each != recent_.rend(); ++each) {
    most = std::max(most, each->cores);
    if (each->at <= now - past) break;  // it was the demand at the start of the period
  }
  return most;
}

double DemandOutlook::mean(WallTime now, Duration past) const {
  double core_s = 0, time_s = 0;
  WallTime until = now;
  for (auto each = recent_.rbegin(); each != recent_.rend(); ++each) {
    const WallTime from = std::max(each->at, now - past);
    core_s += each->cores * seconds(until - from);
    time_s += seconds(until - from);
    until = from;
    if (each->at <= now - past) break;
  }
  if (time_s > 0) return core_s / time_s;
  return recent_.empty() ? 0 : recent_.back().cores;
}

std::optional<double> DemandOutlook::of_slot(std::int64_t slot) const {
  const Slot& of_day = slots_[modulo(slot, kSlotsSigned)];
  const std::int64_t day = floor_div(slot, kSlotsSigned);
  std::array<double, kDays> ascending{};
  std::size_t days = 0;
  for (std::size_t i = 0; i < kDays; ++i) {
    const std::int64_t age = day - of_day.day[i];
    if (of_day.day[i] == kNoDay || age < 1 || age > kDaysSigned) continue;
    const auto cores = static_cast<double>(of_day.highest[i]);
    std::size_t at = days++;
    for (; at > 0 && ascending[at - 1] > cores; --at) ascending[at] = ascending[at - 1];
    ascending[at] = cores;
  }
  if (days == 0) return std::nullopt;
  return (ascending[(days - 1) / 2] + ascending[days / 2]) / 2;
}

std::optional<double> DemandOutlook::expected(WallTime from, WallTime until) const {
  std::optional<double> most;
  const std::int64_t last = std::min(slot_at(until), slot_at(from) + kSlotsSigned);
  for (std::int64_t slot = slot_at(from); slot <= last; ++slot) {
    const std::optional<double> here = of_slot(slot);
    if (here) most = std::max(most.value_or(0), *here);
  }
  return most;
}

WallTime DemandOutlook::first_above(double cores, WallTime from, Duration most) const {
  const WallTime end = from + most;
  for (std::int64_t slot = slot_at(from); slot <= slot_at(end); ++slot) {
    const std::optional<double> here = of_slot(slot);
    if (here && *here > cores) return std::clamp(wall_from_ns(slot * kSlot.count()), from, end);
  }
  return end;
}

void DemandOutlook::pack(PackWriter& out) const {
  out.word(recent_.size());
  for (const Reading& each : recent_) {
    out.word(static_cast<std::uint64_t>(to_ns(each.at)));
    out.real(each.cores);
  }
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < kDays; ++i) {
      out.word(static_cast<std::uint64_t>(slot.day[i]));
      out.real(static_cast<double>(slot.highest[i]));
    }
  }
}

void DemandOutlook::unpack(PackReader& in) {
  DemandOutlook read;
  for (std::size_t n = in.count(16); n > 0; --n) {
    const WallTime at = wall_from_ns(static_cast<std::int64_t>(in.word()));
    read.recent_.push_back({at, in.real()});
  }
  for (Slot& slot : read.slots_) {
    for (std::size_t i = 0; i < kDays; ++i) {
      slot.day[i] = static_cast<std::int64_t>(in.word());
      const double highest = in.real();
      if (highest < 0) in.refuse();
      slot.highest[i] = static_cast<float>(highest);
    }
  }
  if (in.ok()) *this = std::move(read);
}

}  // namespace wattle::placement::sleep
