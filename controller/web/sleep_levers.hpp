// sleep_levers: the nodes that could sleep now, with and without moves of pods, and their saving. The list of savings,
// the page's idle line and the metrics all show this figure.
// Source   the last sleep plan (placement/sleep), net of transitions and moves, where sleep.mode is recommend or auto.
//          Where it is off, a projection from the pods of each node, with kAsleepW per sleeping node
// Units    watts
// Errors   none
// Threads  the owner of the parts
#pragma once

#include <string>
#include <vector>

#include "controller/parts.hpp"
#include "controller/web/savings.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

// The nodes that sleep now, and their saving: idle power minus power asleep.
struct Asleep {
  std::size_t nodes = 0;
  double saved_w = 0;
  std::string text() const;  // "2 nodes asleep save 101 W, modelled"; empty: none sleeps
};
Asleep asleep_now(const Parts& from);

// The projection for one node.
struct ProjectedSleep {
  std::string node;
  std::string kept;    // why it could not sleep; empty: it could
  double saved_w = 0;  // if it could
};
ProjectedSleep project_sleep(const Parts& from, const std::string& name, const Node& node, const NodeGlance& now);

// `projected`: all nodes, for sleep.mode off.
SavingLever sleep_lever(const Parts& from, const std::vector<ProjectedSleep>& projected);
SavingLever drain_lever(const Parts& from);

// All nodes that could sleep together, for the idle line.
struct CouldSleep {
  std::size_t nodes = 0;
  double saved_w = 0;
  std::string assumption;  // completes "so much less, if ..."; without nodes, why none could sleep
};
CouldSleep could_sleep(const Parts& from, const FleetSums& sums);

}  // namespace wattle::controller
