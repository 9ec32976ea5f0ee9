// hindsight: learning from labels of recorded days, and the comparison of networks on whole days.
// Method   the network continues from a start network by imitation of the best judged choices (sim/improve/rollout),
//          anchored to the start. Among the start and the networks after each pass, the one that draws least on whole
//          days wins; these days are played as they were and with their pods in other orders
// Judge    the last quarter of the days, and at least five of ten or more, is not used for learning. A network serves
//          if it draws less than the planner with 95% confidence. The plays of a day count as one value, and with fewer
//          than five days the planner serves. The start gives way only to a network that draws less than it. Labels
//          cannot judge, because the regret of single decisions says little about a day
// Errors   forwards the trainer's, which begins with the start's weights
// Threads  single owner; the same days and options give the same weights
#pragma once

#include <span>

#include "sim/improve/imitate.hpp"

namespace wattle::sim::consolidation {

struct HindsightOptions {
  HindsightOptions() { network.margin = 0; }
  LabelOptions labels;
  ImitateOptions imitate;
  std::size_t plays = 24;             // whole days to choose a pass by, and as many to judge
  placement::NetworkOptions network;  // for whole days
};
enum class Serves { planner, start, learned };
using Network = std::shared_ptr<const models::QNetwork>;

// Returns how many of the recorded days judge; the others are for learning.
std::size_t days_to_judge(std::size_t recorded);

// Returns whole days on the model: each as it was, then in other orders.
std::vector<Episode> days_to_play(std::span<const Episode> recorded_days, std::size_t plays);
// Energy of the days; without a network by the planner's choices.
struct PlayedDays {
  std::vector<double> energy_j;
  std::vector<std::vector<double>> node_energy_j;
};
PlayedDays play_days(std::span<const Episode> days, const Network& network, const placement::NetworkOptions& options);
// Returns the ratio of the energies minus 1. Plays are in the order of days_to_play(). All plays of one recorded day
// count as one value, because they are not independent.
Interval energy_over(const PlayedDays& played, const PlayedDays& base, std::size_t recorded_days);

// Trains on the labels from the start's weights, with the start as anchor, and keeps the best of the start and the
// result of each pass over whole days.
struct Learned {
  models::Weights weights;
  std::size_t passes = 0;  // 0: the start
};
Result<Learned> learn_of_labels(std::span<const Episode> days, std::span<const Label> labels, const Network& start,
                                const HindsightOptions& options, models::PolicyTrainer& trainer);
Serves who_serves(const Interval& learned_over_start, const Interval& learned_over_planner,
                  const Interval& start_over_planner);

// Returns the day with its pods (kind, usage and life) in another order; 0: as it was.
Episode reordered(const Episode& day, std::uint64_t order);

}  // namespace wattle::sim::consolidation
