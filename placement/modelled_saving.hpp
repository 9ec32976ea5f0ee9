// modelled_saving: what acting would draw and how long pods would wait, beside what happens, with an interval. Modelled, never measured.
// Input    about once a second what the cluster draws by the model and what it would draw had advice been followed
//          (placement/advised_cluster): the same pods, curves and loads in both
// Blocks   of time, block_s each, of time in which pods run that were advised; when there are most_blocks every two become one, so that blocks
//          grow longer than what hangs together
// Figure   of the newer half of the blocks, since the copy begins as the cluster is: watts of both, and the ratio of their joules less 1.
//          Below least_blocks there is none
// Interval 95%: the ratio's, linearised, over blocks (Cochran 1977), Student's t; wider by how much neighbouring blocks are
//          alike. It is of what varies in time: that curves and demand are learned wrong is not in it
// Errors   none; what is no number is not added
// Threads  value, single owner
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/stats/interval.hpp"
#include "placement/advised_cluster.hpp"

namespace wattle::placement {

struct ModelledBlock {
  double seconds = 0;
  double now_j = 0, advised_j = 0;
  double now_waited_s = 0, advised_waited_s = 0, pod_s = 0;  // pod-seconds: waited, and all
  double advised_pod_s = 0;                                  // of pods on which there was advice
  bool sane() const;
};

struct ModelledOptions {
  double block_s = 300;
  std::size_t least_blocks = stats::kLeastSeeds, most_blocks = 48;
  double longest_gap_s = 10;  // beyond it nothing is known of the time between
};

struct ModelledFigure {
  stats::Interval change;  // of joules: -0.17 is 17% less
  double now_w = 0, advised_w = 0;
  double now_wait_ratio = 0, advised_wait_ratio = 0;  // share of pods' time
  double seconds = 0;                                 // that it is of
  double advised_ratio = 0;                           // share of pods' time: of pods on which there was advice
};

// What a restart must not forget.
struct ModelledState {
  double block_s = 0;  // as long as blocks are by now
  std::vector<ModelledBlock> blocks;
  ModelledBlock open;
};

class ModelledSaving {
 public:
  explicit ModelledSaving(ModelledOptions options = {}) : options_(options), block_s_(options.block_s) {}
  void begin_anew() { *this = ModelledSaving(options_); }
  // As it has been for so many seconds.
  void add(const ComparedLoad& load, double passed_s);
  std::optional<ModelledFigure> figure() const;
  // Until there is a figure, while pods run that were advised; 0: there is one.
  double first_in_s() const;

  ModelledState state() const { return {block_s_, blocks_, open_}; }
  // False: it is no state that this can be in, and nothing changes.
  bool restore(const ModelledState& state);

 private:
  ModelledOptions options_;
  double block_s_ = 0;
  std::vector<ModelledBlock> blocks_;  // oldest first
  ModelledBlock open_;
};

}  // namespace wattle::placement
