// transition_energy: the energy of a node's steps: joules of its transitions, from the readings around them, and of its
// whole round trips.
// Units    J, W
// Errors   none: a sleep that began before a restart of the controller is not metered
// Threads  pure functions
#pragma once

#include "common/clock.hpp"
#include "controller/power/power_history.hpp"
#include "placement/sleep/power_state.hpp"
#include "placement/sleep/transition_meter.hpp"

namespace wattle::controller::power {

// Begins or ends the meter's transition with the step from `before` to `after`, and keeps its joules in `after`.
void meter_transition(placement::sleep::TransitionMeter& meter, const placement::sleep::NodePowerRecord& before,
                      placement::sleep::NodePowerRecord& after, MonoTime at);

// Continues a wake that the controller began before it restarted: the readings before that are lost, and their time
// counts as unseen.
void resume_meter(placement::sleep::TransitionMeter& meter, const placement::sleep::NodePowerRecord& record,
                  MonoTime at, WallTime wall);

// Adds the round trip that ends with the step.
void add_trip(SleepTotals& totals, const placement::sleep::NodePowerRecord& before,
              const placement::sleep::NodePowerRecord& after, double idle_w, WallTime at);

}  // namespace wattle::controller::power
