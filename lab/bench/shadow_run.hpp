// shadow_run: compares the saving that the controller models, in mode shadow and in mode live, with the real saving of
// the following day.
// Plays    per fleet: a day in mode shadow to learn from; a canary, which calibrates; then the same days of other pods
//          twice, in shadow, where the default scheduler decides, and live
//          each as a controller in that mode does: blocks by its rules and meters (controller/rollout), half of them
//          treated, measured as its agents report
// Figures  of shadow from before the canary, as when Wattle is adopted; of live calibrated by the canary, as shown, and
//          as modelled
// Truth    joules of the runs, as the world knows them, day by day. Live mode's figure compares with a cluster without
//          Wattle, so where nodes sleep, its truth is a third run: the default scheduler with all nodes on
// Errors   those of contestants
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/rollout/calibration.hpp"
#include "controller/rollout/effect.hpp"
#include "lab/bench/bench.hpp"
#include "lab/bench/live_run.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::sim::consolidation {

inline constexpr double kShadowDay_s = 24 * 3600;

enum class ShadowMode { shadow, canary, live };

struct PlayedShadow {
  LivePlayed played;
  std::vector<controller::BlockResult> blocks;  // those of the canary
  // At the end of each day; no value where there was no figure.
  std::vector<std::optional<placement::ModelledFigure>> days;
};

// The measured time of a block of a canary.
double measured_block_s();
// `known`: the cluster model of an earlier episode, or empty.
Result<PlayedShadow> play_shadow(const Episode& episode, const Contestant& contestant, const std::string& known,
                                 const LiveRunOptions& options, ShadowMode mode);

struct ShadowOptions {
  std::string policy = "planner";  // advises in shadow and decides live
  std::size_t days = 1;            // compared, one after the other
  double canary_s = 48 * 3600;
};

// A day, and the changes of energy that were expected at its beginning.
struct ShadowDay {
  double shadow_j = 0, live_j = 0, all_on_j = 0;
  std::optional<stats::Interval> shadow, live, live_modelled;  // no value: no figure is shown
  double change() const { return live_j / shadow_j - 1; }
  double whole_change() const { return live_j / all_on_j - 1; }
};

struct ShadowRun {
  std::uint64_t seed = 0;
  std::optional<controller::Calibration> calibration;
  std::vector<ShadowDay> days;
};

// Returns one run per seed. Uses only these of the bench's options: the episode's, the first number of nodes, the seeds
// and the network.
Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options,
                                           const ShadowOptions& shadow);

// Fewer than five fleets: figures without intervals and verdicts.
std::string shadow_table(const std::vector<ShadowRun>& runs);

}  // namespace wattle::sim::consolidation
