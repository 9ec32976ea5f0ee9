// live_run: an episode of X8 played in a World, by the controller's decision engine, which knows what agents and the API server told it.
// Told     of the fleet's watts, of demand, lives and of how many pods come: nothing but what telemetry and bindings have shown so far.
//          `cold` begins with nothing; warm begins with what an episode before it, of the same servers and applications, left behind
// Binding  kube-scheduler's, through extender scores
// Errors   unknown policies
// Threads  single owner; the same options give the same bytes
#pragma once

#include "sim/contestant.hpp"
#include "sim/x8/bench.hpp"

namespace wattle::sim::x8 {

struct LiveRunOptions {
  double telemetry_period_s = 5;
  placement::NetworkOptions network;
};

// `before`: the episode that teaches; null: cold.
Result<RunFigures> run_live(const Episode& episode, const Episode* before, const Contestant& contestant,
                            const LiveRunOptions& options);

}  // namespace wattle::sim::x8
