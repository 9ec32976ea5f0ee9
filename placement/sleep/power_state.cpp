#include "placement/sleep/power_state.hpp"

#include <cmath>
#include <utility>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement::sleep {

namespace {

constexpr std::array<std::string_view, kPowerStates.size()> kStateNames{
    "awake", "idle", "draining", "suspending", "asleep", "waking", "probation", "blocked", "failed", "unknown"};
constexpr std::array<std::string_view, kDepths.size()> kDepthNames{"suspend", "off"};
constexpr std::array<std::string_view, kObservations.size()> kObservedNames{"unknown", "on", "off"};
constexpr double kNewShare = 0.25;

}  // namespace

std::string_view to_string(PowerState state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::string_view to_string(Depth depth) { return kDepthNames[static_cast<std::size_t>(depth)]; }
std::string_view to_string(Observed observed) { return kObservedNames[static_cast<std::size_t>(observed)]; }

template <class V>
void Transitions::fields(V& v) {
  v(sleep_s, sleep_j, wake_s, wake_j, asleep_w);
}

template <class V>
void MeteredTransitions::fields(V& v) {
  v(mean_j, count);
}

template <class V>
void NodePowerRecord::fields(V& v) {
  v(node);
  v.choice(state, kPowerStates.size());
  v(since, operation);
  v.choice(depth, kDepths.size());
  v(reason, marked, ours, goodbye, slept, observable, presumed, wake_pending);
  v(attempts, failures, round_trips, cycles_today, day, ordered, last_slept, last_woken);
  v(measured, test, sleeps, wakes, other.measured, other.sleeps, other.wakes);
}

void NodePowerRecord::pack(PackWriter& out) const { pack_fields(out, *this); }
void NodePowerRecord::unpack(PackReader& in) { unpack_fields(in, *this); }

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
