#include "controller/power/transition_energy.hpp"

#include <algorithm>
#include <optional>

#include "placement/sleep/transition_cost.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {
using State = core::PowerState;
}  // namespace

void meter_transition(core::TransitionMeter& meter, const core::NodePowerRecord& before, core::NodePowerRecord& after,
                      MonoTime at) {
  const auto end = [&](core::MeteredTransitions& metered, std::optional<double>& measured_j) {
    if (const std::optional<double> joules = meter.end(at)) metered.add(*joules);
    measured_j = metered.trusted_j();
  };
  if (after.slept && !before.slept) end(after.sleeps, after.measured.sleep_j);
  if (after.round_trips != before.round_trips) end(after.wakes, after.measured.wake_j);
  if (before.state != State::suspending && after.state == State::suspending && after.ordered) meter.sleeps(at);
  if (after.state == State::waking && after.attempts == 1 && after.slept) meter.wakes(at);
}

void resume_meter(core::TransitionMeter& meter, const core::NodePowerRecord& record, MonoTime at, WallTime wall) {
  const bool wakes = record.state == State::waking || record.state == State::probation;
  if (wakes && record.slept && record.ordered) meter.wakes(at - std::max(Duration{0}, wall - *record.ordered));
}

void add_trip(SleepTotals& totals, const core::NodePowerRecord& before, const core::NodePowerRecord& after,
              double idle_w, WallTime at) {
  ++totals.cycles;
  if (before.test) ++totals.tests;
  if (!after.last_slept) return;
  core::TransitionCost cost = core::cost_of(after, after.depth, idle_w);
  if (before.ordered) cost.wake_s = seconds(at - *before.ordered);  // of this wake
  const core::TripEnergy trip = core::trip_energy(cost, idle_w, seconds(at - *after.last_slept) + cost.sleep_s);
  totals.saved_j += trip.saved_j;
  if (before.test) totals.tests_j -= trip.saved_j;
  totals.transitions_j += trip.transitions_j;
  totals.asleep_j += trip.asleep_j;
}

}  // namespace wattle::controller::power
