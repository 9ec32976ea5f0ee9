// trouble: the faults of a cluster in a run. Drawn in advance from the seed, the same for every policy, and unknown to
// all policies.
// Units    seconds from the start of the run; milliseconds; watts at 0, 10, ..., 100 % utilisation
// Errors   none; nodes are indices into the world's
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/world/power.hpp"

namespace wattle::sim {

// Changes the latency of the node's users at at_s.
struct LatencyShift {
  double at_s = 0;
  std::size_t node = 0;
  double latency_ms = 0;
};

// Changes the server's power curve at at_s: a governor, a fan, a worn power supply.
struct CurveChange {
  double at_s = 0;
  std::size_t node = 0;
  std::array<double, kWattPoints> watts{};
};

// The machine fails: it draws no power, and its pods stop and are lost once the API server notices. If it returns after
// that it is empty, otherwise it keeps its pods.
struct Outage {
  double from_s = 0, to_s = 0;
  std::size_t node = 0;
};

// The agent is dead; the machine continues.
struct Silence {
  double from_s = 0, to_s = 0;
  std::size_t node = 0;
};

enum class LieKind {
  frozen,   // repeats its first report forever
  scaled,   // use and watts are multiplied by `factor`
  swapped,  // reports the use and watts of `other`
};
struct TelemetryFault {
  LieKind kind = LieKind::frozen;
  double from_s = 0;
  std::size_t node = 0;
  double factor = 1;
  std::size_t other = 0;
};

struct FaultPlan {
  std::vector<LatencyShift> shifts;
  std::vector<CurveChange> curve_changes;
  std::vector<Outage> outages;
  std::vector<Silence> silences;
  std::vector<TelemetryFault> lies;
};

}  // namespace wattle::sim
