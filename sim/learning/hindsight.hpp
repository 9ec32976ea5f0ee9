// hindsight: what a network learns of the days that its cluster has lived, from what was recorded of them: which pods came, when
// they ended, the cores that they used, and the curves that the nodes are known to have.
// Method   each recorded day is played again on a model of the cluster, by the start; some decisions are judged by rollouts
//          (sim/learning/rollout), and the network goes on from the start by imitation of what would have been best, anchored to it.
//          Of the start and the networks after each pass the one is kept that draws least when those days are played whole, as they
//          were and with their pods in other orders
// Gate     the last quarter of the days is not learned from, but played whole likewise by planner, start and what was learned. What does not draw less than the planner there with 95% confidence
//          (paired over the days played) does not serve; the start, if it does, gives way only to what draws less than it. One
//          decision's regret says too little of a day: a gate on labels let the planner serve nearly everywhere
// Lived    days that are learned from by planner and start in turn, those of the gate by what was learned too, an hour each: of a node
//          that none of them wakes the curve is hearsay, and so would be any gain there
// Truth    none that the cluster did not show: a Shift is left out, and under imitated knowledge the curves are those fitted
// Errors   forwards the trainer's, which begins with the start's weights; out_of_range: fewer than two days
// Threads  single owner; the same days and options give the same weights
#pragma once

#include <span>

#include "sim/learning/imitate.hpp"

namespace wattle::sim::consolidation {

struct HindsightOptions {
  HindsightOptions() { network.margin = 0; }
  LabelOptions labels;
  ImitateOptions imitate;
  std::size_t plays = 24;             // whole days, to choose a pass by, and as many at the gate
  placement::NetworkOptions network;  // of whole days
};
enum class Serves { planner, start, learned };
using Network = std::shared_ptr<const models::QNetwork>;
struct Hindsight {
  models::Weights weights;  // learned
  Serves serves = Serves::planner;
  std::size_t labels = 0;  // learned from
  std::size_t passes = 0;  // over them, of the network that was kept; 0: the start
  // Energy less 1, on the days that the gate played.
  Interval learned_over_start, learned_over_planner, start_over_planner;
};

// What is recorded of a day that the planner and the networks beside it live in turn, an hour each.
Episode recorded(const Episode& lived, std::span<const std::shared_ptr<const models::QNetwork>> beside, double margin);

// Whole days on the model: each as it was, then in other orders.
std::vector<Episode> days_to_play(std::span<const Episode> recorded_days, std::size_t plays);
// What they draw, by day; without a network by the planner's choices.
struct PlayedDays {
  std::vector<double> energy_j;
  std::vector<std::vector<double>> node_energy_j;
};
PlayedDays play_days(std::span<const Episode> days, const Network& network, const placement::NetworkOptions& options);

// The trainer goes on from the start's weights by imitation of what labels say; the best by the whole days of the start and what came of each
// pass. The anchor is the start.
struct Learned {
  models::Weights weights;
  std::size_t passes = 0;  // 0: the start
};
Result<Learned> learn_of_labels(std::span<const Episode> days, std::span<const Label> labels, const Network& start,
                                const HindsightOptions& options, models::PolicyTrainer& trainer);
Serves who_serves(const Interval& learned_over_start, const Interval& learned_over_planner,
                  const Interval& start_over_planner);

// The day with its pods (what they are, use and live) in another order; 0: as it was.
Episode reordered(const Episode& day, std::uint64_t order);

Result<Hindsight> learn_by_hindsight(std::span<const Episode> lived,
                                     const std::shared_ptr<const models::QNetwork>& start,
                                     const HindsightOptions& options, models::PolicyTrainer& trainer);

}  // namespace wattle::sim::consolidation
