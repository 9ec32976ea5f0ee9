// modelled_saving: the modelled power and pod waiting with Wattle's choices, beside those with the default scheduler's,
// with an interval. A model value, not a measurement.
// Input    about once a second the modelled power of the cluster with Wattle's and with the default scheduler's choices
//          (placement/judge/advised_cluster), with the same pods, curves and loads. One of the two is the real cluster:
//          the default scheduler's in shadow mode, otherwise Wattle's
// Blocks   of time, block_s each, while pods with advice run. At most_blocks blocks, neighbours are merged in pairs, so
//          that blocks become longer than the autocorrelation
// Figure   over the newer half of the comparable blocks, because the copy starts equal to the cluster: power of both,
//          and the ratio of their energies minus 1. Needs least_blocks. Blocks are comparable back to the last change
//          of the share of nodes that may sleep (beyond kSameSleep), because the saving changes with that share
// Restart  the copy may start without the choices for running pods. Time then counts once the share of pods with advice
//          reaches kSameAdvice of its earlier value, or after a day; until then the figure from before the restart
//          stays
// Interval 95% of the mean over the blocks: the linearised ratio over blocks (Cochran 1977), Student's t, widened by
//          the correlation of neighbouring blocks, moderated towards the usual variance of a saving, and the error of
//          the learned power curves, as their fits estimate it. It does not cover errors of the predicted demand
// Errors   none; values that are not finite are ignored
// Threads  value, single owner
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/stats/interval.hpp"
#include "placement/judge/advised_cluster.hpp"

namespace wattle::placement {

inline constexpr double kSameSleep = 0.1, kSameAdvice = 0.9;

struct ModelledBlock {
  double seconds = 0;
  double now_j = 0, advised_j = 0;                           // the default scheduler's choices; Wattle's
  double now_waited_s = 0, advised_waited_s = 0, pod_s = 0;  // pod-seconds: waited, and all
  double advised_pod_s = 0;                                  // of pods with advice
  double asleep_j = 0;                                       // saved by nodes that sleep only in the cluster
  double may_sleep_s = 0;                                    // seconds times the share of nodes that may sleep
  bool sane() const;
};

struct ModelledOptions {
  double block_s = 300;
  std::size_t least_blocks = stats::kLeastSeeds, most_blocks = 48;
  double longest_gap_s = 10;  // a longer gap is unknown time
};

struct ModelledFigure {
  stats::Interval change;                             // of energy: -0.17 is 17% less
  double now_w = 0, advised_w = 0;                    // with the default scheduler's choices; with Wattle's
  double now_wait_ratio = 0, advised_wait_ratio = 0;  // share of pods' time
  double seconds = 0;                                 // time covered
  double advised_ratio = 0;                           // share of pods' time with advice
  double asleep_w = 0;                                // part of the difference: nodes that sleep only in the cluster
};

// State to keep over a restart.
struct ModelledState {
  double block_s = 0;  // current length of a block
  std::vector<ModelledBlock> blocks;
  ModelledBlock open;
};

class ModelledSaving {
 public:
  explicit ModelledSaving(ModelledOptions options = {}) : options_(options), block_s_(options.block_s) {}
  void restart() { *this = ModelledSaving(options_); }
  // Adds `passed_s` seconds of this load: `now` with the default scheduler's choices, `advised` with Wattle's.
  void add(const ComparedLoad& load, double passed_s);
  std::optional<ModelledFigure> figure() const;
  // Returns the time until there is a figure, provided that pods with advice run; 0 if there is one.
  double first_in_s() const;

  ModelledState state() const { return {block_s_, blocks_, open_}; }
  // Returns false, without a change, if the state is invalid.
  bool restore(const ModelledState& state);

 private:
  std::span<const ModelledBlock> comparable() const;

  ModelledOptions options_;
  double block_s_ = 0;
  std::vector<ModelledBlock> blocks_;  // oldest first
  ModelledBlock open_;
  double lasted_s_ = 0;     // since construction
  double error_ratio_ = 0;  // running mean of the curves' error over the power; not kept over a restart
  double advised_before_ = 0, waited_s_ = 0;  // after a restart: share of pods with advice before it; time that passed
};

}  // namespace wattle::placement
