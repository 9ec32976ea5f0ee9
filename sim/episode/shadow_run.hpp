// shadow_run: what mode shadow says that acting would save, beside what acting then does.
// Plays    an episode of consolidation that teaches, then the next of the same servers and applications twice, both by what was learned: in
//          shadow, where the default scheduler decides, and live. Compared are the hours that the modelled figure is of
// Truth    joules and waiting of the two runs, as the world knows them
// Errors   those of contestants; out_of_range: the episode is too short for a figure
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/modelled_saving.hpp"
#include "sim/episode/bench.hpp"
#include "sim/episode/live_run.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim::consolidation {

struct ShadowRun {
  std::uint64_t seed = 0;
  placement::ModelledFigure modelled;
  RunFigures shadow, live;  // of the same hours
  double change() const { return live.energy_j / shadow.energy_j - 1; }
  bool holds() const { return modelled.change.low <= change() && change() <= modelled.change.high; }
};

// `before` teaches; `contestant` is who advises, and who decides live.
Result<ShadowRun> run_shadow(Episode episode, const Episode& before, const Contestant& contestant,
                             const LiveRunOptions& options);
// One for each seed; of the options those of the episode, the first number of nodes, the seeds and the network count.
Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options, const std::string& policy);

std::string shadow_table(const std::vector<ShadowRun>& runs);

}  // namespace wattle::sim::consolidation
