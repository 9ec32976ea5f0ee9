#include "placement/sleep/power_state.hpp"

#include <cmath>
#include <utility>

namespace wattle::placement::sleep {

namespace {

constexpr std::array<std::string_view, kPowerStates.size()> kStateNames{
    "awake", "idle", "draining", "suspending", "asleep", "waking", "probation", "blocked", "failed", "unknown"};
constexpr std::array<std::string_view, kDepths.size()> kDepthNames{"suspend", "off"};
constexpr std::array<std::string_view, kObservations.size()> kObservedNames{"unknown", "on", "off"};
constexpr double kNewShare = 0.25;

void pack_time(PackWriter& out, const std::optional<WallTime>& time) {
  out.word(time ? 1 : 0);
  out.word(static_cast<std::uint64_t>(time ? to_ns(*time) : 0));
}

std::optional<WallTime> unpack_time(PackReader& in) {
  const bool there = in.word() != 0;
  const WallTime time = wall_from_ns(static_cast<std::int64_t>(in.word()));
  if (!there) return std::nullopt;
  return time;
}

void pack_value(PackWriter& out, const std::optional<double>& value) {
  out.word(value ? 1 : 0);
  out.real(value.value_or(0));
}

std::optional<double> unpack_value(PackReader& in) {
  const bool there = in.word() != 0;
  const double value = in.real();
  if (!there) return std::nullopt;
  if (value < 0) in.refuse();
  return value;
}

template <class Enum, std::size_t N>
Enum unpack_enum(PackReader& in, const std::array<Enum, N>& values) {
  const std::uint64_t value = in.word();
  if (value < N) return values[static_cast<std::size_t>(value)];
  in.refuse();
  return values.front();
}

std::uint32_t unpack_count(PackReader& in) {
  const std::uint64_t value = in.word();
  if (value > UINT32_MAX) in.refuse();
  return static_cast<std::uint32_t>(value);
}

void pack_means(PackWriter& out, const Transitions& means) {
  for (const auto& value : {means.sleep_s, means.sleep_j, means.wake_s, means.wake_j, means.asleep_w})
    pack_value(out, value);
}

void unpack_means(PackReader& in, Transitions& means) {
  for (auto* value : {&means.sleep_s, &means.sleep_j, &means.wake_s, &means.wake_j, &means.asleep_w})
    *value = unpack_value(in);
}

void pack_metered(PackWriter& out, const MeteredTransitions& metered) {
  pack_value(out, metered.mean_j);
  out.word(metered.count);
}

void unpack_metered(PackReader& in, MeteredTransitions& metered) {
  metered.mean_j = unpack_value(in);
  metered.count = unpack_count(in);
}

}  // namespace

std::string_view to_string(PowerState state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::string_view to_string(Depth depth) { return kDepthNames[static_cast<std::size_t>(depth)]; }
std::string_view to_string(Observed observed) { return kObservedNames[static_cast<std::size_t>(observed)]; }

void NodePowerRecord::pack(PackWriter& out) const {
  out.text(node);
  out.word(static_cast<std::uint64_t>(state));
  out.word(static_cast<std::uint64_t>(to_ns(since)));
  out.word(operation);
  out.word(static_cast<std::uint64_t>(depth));
  out.text(reason);
  for (const bool flag : {marked, ours, goodbye, slept, observable, presumed, wake_pending}) out.word(flag ? 1 : 0);
  for (const std::uint32_t count : {attempts, failures, round_trips, cycles_today}) out.word(count);
  out.word(static_cast<std::uint64_t>(day));
  for (const auto& time : {ordered, last_slept, last_woken}) pack_time(out, time);
  pack_means(out, measured);
  out.word(test ? 1 : 0);
  for (const MeteredTransitions* metered : {&sleeps, &wakes}) pack_metered(out, *metered);
  pack_means(out, other.measured);
  for (const MeteredTransitions* metered : {&other.sleeps, &other.wakes}) pack_metered(out, *metered);
}

void NodePowerRecord::unpack(PackReader& in) {
  NodePowerRecord read;
  read.node = in.text();
  read.state = unpack_enum(in, kPowerStates);
  read.since = wall_from_ns(static_cast<std::int64_t>(in.word()));
  read.operation = in.word();
  read.depth = unpack_enum(in, kDepths);
  read.reason = in.text();
  for (bool* flag :
       {&read.marked, &read.ours, &read.goodbye, &read.slept, &read.observable, &read.presumed, &read.wake_pending})
    *flag = in.word() != 0;
  for (std::uint32_t* number : {&read.attempts, &read.failures, &read.round_trips, &read.cycles_today})
    *number = unpack_count(in);
  read.day = static_cast<std::int64_t>(in.word());
  for (auto* time : {&read.ordered, &read.last_slept, &read.last_woken}) *time = unpack_time(in);
  unpack_means(in, read.measured);
  read.test = in.word() != 0;
  for (MeteredTransitions* metered : {&read.sleeps, &read.wakes}) unpack_metered(in, *metered);
  unpack_means(in, read.other.measured);
  for (MeteredTransitions* metered : {&read.other.sleeps, &read.other.wakes}) unpack_metered(in, *metered);
  if (in.ok()) *this = std::move(read);
}

void NodePowerRecord::use_depth(Depth to) {
  if (depth == to) return;
  depth = to;
  std::swap(measured, other.measured);
  std::swap(sleeps, other.sleeps);
  std::swap(wakes, other.wakes);
}

std::int64_t day_of(WallTime when) {
  return std::chrono::floor<std::chrono::duration<std::int64_t, std::ratio<86'400>>>(when.time_since_epoch()).count();
}

std::uint32_t cycles_on_day(const NodePowerRecord& record, WallTime now) {
  return record.day == day_of(now) ? record.cycles_today : 0;
}

void MeteredTransitions::add(double joules) {
  if (!std::isfinite(joules) || joules < 0) return;
  follow(mean_j, joules);
  if (count < UINT32_MAX) ++count;
}

void follow(std::optional<double>& mean, double value) {
  if (!std::isfinite(value) || value < 0) return;
  mean = mean ? *mean + kNewShare * (value - *mean) : value;
}

}  // namespace wattle::placement::sleep
