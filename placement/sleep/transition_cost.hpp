// transition_cost: time and joules of one round trip of a node, and the gap from which a sleep pays.
// Source   measured here (Transitions of the record); before that published values: off by the boot
//          and shutdown of a server (152 s and 19,030 J; 6.1 s and 620 J; 9.75 W), suspend by S3 (5 s each way at idle
//          power; 1 W)
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include "placement/sleep/power_state.hpp"

namespace wattle::placement::sleep {

struct TransitionCost {
  double sleep_s = 0, sleep_j = 0, wake_s = 0, wake_j = 0, asleep_w = 0;
};
TransitionCost usual_cost(Depth depth, double idle_w);
TransitionCost cost_of(const NodePowerRecord& record, Depth depth, double idle_w);
// The joules of both transitions are measured here.
inline bool joules_measured(const NodePowerRecord& record) { return record.measured.sleep_j && record.measured.wake_j; }

// Energy of one sleep from the order to ready, compared with that of an idle node. Conservation: always_on_j = saved_j
// + transitions_j + asleep_j.
struct TripEnergy {
  double always_on_j = 0, transitions_j = 0, asleep_j = 0, saved_j = 0;
};
TripEnergy trip_energy(const TransitionCost& cost, double idle_w, double gap_s);

// Time from the order to sleep to the end of the wake from which sleeping costs less than staying idle; at least both
// transitions. Infinite if sleep saves no power.
double break_even_s(const TransitionCost& cost, double idle_w);
// Joules that a sleep saves if the node is ready again after that time, transitions included; below 0: it costs.
double saved_j(const TransitionCost& cost, double idle_w, double gap_s);

// Time before expected demand at which a node is woken: its wake time, and one slot of the outlook for the margin of
// both.
double wake_lead_s(const TransitionCost& cost);

}  // namespace wattle::placement::sleep
