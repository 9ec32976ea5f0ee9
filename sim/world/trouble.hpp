// trouble: what befalls a cluster in a run. Drawn beforehand from the seed, the same for every policy, told to none.
// Units    seconds from the start of the run; milliseconds; watts at 0, 10, ..., 100 % utilisation
// Errors   none; nodes are indices into the world's
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/world/power.hpp"

namespace wattle::sim {

// From at_s on, the users of `node` are that far.
struct LatencyShift {
  double at_s = 0;
  std::size_t node = 0;
  double latency_ms = 0;
};

// From at_s on, the server draws these watts: a governor, a fan, a worn supply.
struct CurveChange {
  double at_s = 0;
  std::size_t node = 0;
  std::array<double, kWattPoints> watts{};
};

// The machine is gone: it draws nothing, its pods stand still and are lost once the API server notices. It comes back empty
// if that is later, else with its pods.
struct Outage {
  double from_s = 0, to_s = 0;
  std::size_t node = 0;
};

// Its agent is dead; the machine runs on.
struct Silence {
  double from_s = 0, to_s = 0;
  std::size_t node = 0;
};

enum class LieKind {
  frozen,   // says for ever what it said first
  scaled,   // use and watts times `factor`
  swapped,  // tells what `other` uses and draws
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
