// shadow_run: compares the saving that the controller models, in mode shadow or live, with the real saving.
// Plays    a first episode of consolidation to learn from, then the next one of the same servers and applications with
//          that knowledge: in shadow, where the default scheduler decides, and live. Compares the hours that the
//          modelled figure covers, or those after it (ahead_s), which the figure predicts
// Truth    joules and waiting of the two runs, as the world knows them
// Errors   those of contestants; out_of_range: the episode is too short for a figure
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/stats/to_come.hpp"
#include "lab/bench/bench.hpp"
#include "lab/bench/live_run.hpp"
#include "placement/judge/modelled_saving.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim::consolidation {

struct ShadowOptions {
  std::string policy = "planner";  // advises in shadow and decides live
  bool acting = false;             // the figure is that of mode live
  double ahead_s = 0;              // compared time after the figure; 0: the time that it covers
};

struct ShadowRun {
  std::uint64_t seed = 0;
  placement::ModelledFigure modelled;
  bool ahead = false;  // the figures are of time after the modelled one
  double measured_s = 0;
  RunFigures shadow, live;  // over those seconds
  stats::Interval expected() const { return ahead ? stats::to_come(modelled.change) : modelled.change; }
  double change() const { return live.energy_j / shadow.energy_j - 1; }
  bool holds() const { return expected().low <= change() && change() <= expected().high; }
};

// `before` is for learning; `contestant` is that of the policy.
Result<ShadowRun> run_shadow(Episode episode, const Episode& before, const Contestant& contestant,
                             const LiveRunOptions& options, const ShadowOptions& shadow);
// Returns one run per seed. Uses only these of the bench's options: the episode's, the first number of nodes, the seeds
// and the network.
Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options,
                                           const ShadowOptions& shadow);

// Fewer than five fleets: modelled figures without intervals.
std::string shadow_table(const std::vector<ShadowRun>& runs);

}  // namespace wattle::sim::consolidation
