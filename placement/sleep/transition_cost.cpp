#include "placement/sleep/transition_cost.hpp"

#include <algorithm>
#include <limits>

namespace wattle::placement::sleep {

namespace {
constexpr TransitionCost kOff{6.1, 620, 152, 19'030, 9.75};
constexpr double kSuspend_s = 5, kSuspended_w = 1;
constexpr double kSlot_s = 300;
}  // namespace

TransitionCost usual_cost(Depth depth, double idle_w) {
  if (depth == Depth::off) return kOff;
  return {kSuspend_s, kSuspend_s * idle_w, kSuspend_s, kSuspend_s * idle_w, kSuspended_w};
}

TransitionCost cost_of(const NodePowerRecord& record, Depth depth, double idle_w) {
  const TransitionCost usual = usual_cost(depth, idle_w);
  const Transitions& here = record.depth == depth ? record.measured : record.other.measured;
  return {here.sleep_s.value_or(usual.sleep_s), here.sleep_j.value_or(usual.sleep_j),
          here.wake_s.value_or(usual.wake_s), here.wake_j.value_or(usual.wake_j),
          here.asleep_w.value_or(usual.asleep_w)};
}

TripEnergy trip_energy(const TransitionCost& cost, double idle_w, double gap_s) {
  TripEnergy trip;
  trip.always_on_j = idle_w * gap_s;
  trip.transitions_j = cost.sleep_j + cost.wake_j;
  trip.asleep_j = cost.asleep_w * std::max(0.0, gap_s - cost.sleep_s - cost.wake_s);
  trip.saved_j = trip.always_on_j - trip.transitions_j - trip.asleep_j;
  return trip;
}

double saved_j(const TransitionCost& cost, double idle_w, double gap_s) {
  return trip_energy(cost, idle_w, gap_s).saved_j;
}

double break_even_s(const TransitionCost& cost, double idle_w) {
  const double transitions_s = cost.sleep_s + cost.wake_s;
  if (!(idle_w > cost.asleep_w)) return std::numeric_limits<double>::infinity();
  const double gap_s = (cost.sleep_j + cost.wake_j - cost.asleep_w * transitions_s) / (idle_w - cost.asleep_w);
  return std::max(gap_s, transitions_s);
}

double wake_lead_s(const TransitionCost& cost) { return cost.wake_s + kSlot_s; }

}  // namespace wattle::placement::sleep
