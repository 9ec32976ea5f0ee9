// shadow_run: compares the saving that the controller models, in mode shadow or live, with the real saving.
// Plays    a first episode of consolidation to learn from, then the next one of the same servers and applications with
//          that knowledge: in shadow, where the default scheduler decides, and live. Compares the hours that the
//          modelled figure covers
// Truth    joules and waiting of the two runs, as the world knows them
// Errors   those of contestants; out_of_range: the episode is too short for a figure
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/bench/bench.hpp"
#include "lab/bench/live_run.hpp"
#include "placement/judge/modelled_saving.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim::consolidation {

struct ShadowRun {
  std::uint64_t seed = 0;
  placement::ModelledFigure modelled;
  RunFigures shadow, live;  // over the same hours
  double change() const { return live.energy_j / shadow.energy_j - 1; }
  bool holds() const { return modelled.change.low <= change() && change() <= modelled.change.high; }
};

// `before` is for learning; `contestant` advises in shadow and decides live. `acting`: the figure is that of mode live.
Result<ShadowRun> run_shadow(Episode episode, const Episode& before, const Contestant& contestant,
                             const LiveRunOptions& options, bool acting);
// Returns one run per seed. Uses only these options: the episode's, the first number of nodes, the seeds and the
// network.
Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options, const std::string& policy,
                                           bool acting);

// Fewer than five fleets: modelled figures without intervals.
std::string shadow_table(const std::vector<ShadowRun>& runs);

}  // namespace wattle::sim::consolidation
