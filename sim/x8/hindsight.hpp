// hindsight: what a network learns of the days that its cluster has lived, from what was recorded of them: which pods came, when
// they ended, the cores that they used, and the curves that the nodes are known to have.
// Method   each recorded day is played again on a model of the cluster, by the start; some decisions are judged by rollouts
//          (sim/x8/rollout), and the network goes on from the start by imitation of what would have been best, anchored to it
// Gate     the last day, of which as many decisions are judged, is not learned from: what was learned serves if it has less regret there than the start with 95%
//          confidence, else the start; and that if it has less than the planner, else the planner
// Truth    none that the cluster did not show: a Shift is left out, and under production knowledge the curves are those fitted
// Errors   forwards the trainer's; out_of_range: fewer than two days
// Threads  single owner; the same days and options give the same weights
#pragma once

#include <span>

#include "sim/x8/imitate.hpp"

namespace wattle::sim::x8 {

struct HindsightOptions {
  LabelOptions labels;
  ImitateOptions imitate;
};
enum class Serves { planner, start, learned };
struct Hindsight {
  models::Weights weights;  // learned
  Serves serves = Serves::planner;
  std::size_t labels = 0;  // learned from
};

// What is recorded of a day.
Episode recorded(const Episode& lived);

Result<Hindsight> learn_by_hindsight(std::span<const Episode> lived,
                                     const std::shared_ptr<const models::QNetwork>& start,
                                     const HindsightOptions& options, models::PolicyTrainer& trainer);

}  // namespace wattle::sim::x8
