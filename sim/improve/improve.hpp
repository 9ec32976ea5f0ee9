// improve: makes a network that is better on one cluster's own days. Replays recorded days on a model of that cluster,
// evaluates choices by paired lookahead, trains the start network to imitate the best ones, and keeps the result only
// if unseen days confirm it.
// Model    the record (cluster_record) with curves scaled per node, so that the real placements draw the measured
//          joules on the days used for learning. The remaining error on the last days widens the verdict's intervals
// Method   the network continues from a start network by imitation of the best judged choices (sim/improve/rollout),
//          anchored to the start. Among the start and the networks after each pass, the one that draws least on whole
//          days wins; these days are replayed as recorded and with their pods in other orders
// Judge    the last quarter of the days, and at least five of ten or more, is not used for learning. A network serves
//          if it draws less than the planner with 95% confidence. The replays of a day count as one value, and with
//          fewer than five days the planner serves. A network replaces the start only if it draws less. Labels cannot
//          decide, because the regret of single decisions says little about a day
// Shards several processes can make the labels, each for every n-th judged decision; the merged labels are the same bit
//          by bit
// Units    joules, seconds; energy ratios minus 1
// Errors   forwards the trainer's
// Threads  single owner; the same record and options give the same labels and weights
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/improve/cluster_record.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::consolidation {

struct HindsightOptions {
  HindsightOptions() { network.margin = 0; }
  LabelOptions labels;
  ImitateOptions imitate;
  std::size_t plays = 24;             // whole days to choose a pass, and as many to judge it
  placement::NetworkOptions network;  // for whole days
};
enum class Serves { planner, start, learned };
using Network = std::shared_ptr<const models::QNetwork>;

// Returns how many of the recorded days judge; the others are for learning.
std::size_t days_to_judge(std::size_t recorded);

// Returns whole days on the model: each as recorded, then in other orders.
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

// Returns the day with its pods (kind, usage and life) in another order; 0: as recorded.
Episode reordered(const Episode& day, std::uint64_t order);

// Measured joules over those of the model, with the real placements.
struct Calibration {
  static constexpr double kUnmeasured = 0.10;  // assumed error of a node without measurements
  std::vector<double> node_ratio;              // by node; 1 with too few measurements
  double node_error = kUnmeasured;             // of a node's joules on the judging days, root mean square
  std::size_t measured_hours = 0;              // node-hours, over all days
};
// `learned`: number of days for the ratios; the others are for the error.
Calibration calibrate(const ClusterRecord& record, std::span<const RecordedDay> days, std::size_t learned);

struct ImproveOptions {
  DayOptions days;
  HindsightOptions hindsight;
};
struct CalibratedDays {
  RecordedDays recorded;
  std::size_t learned = 0;  // number of days for learning
  Calibration calibration;  // as applied to the servers
};
Result<CalibratedDays> calibrated_days(const ClusterRecord& record, const ImproveOptions& options,
                                       const std::string& subject);

// Returns the labels of one day for learning.
std::vector<Label> judge_day(const CalibratedDays& days, std::size_t day, const LabelOptions& options,
                             const Network& start);

struct Improvement {
  models::Weights weights;  // the start's if no pass was better
  std::size_t labels = 0, passes = 0;
  std::size_t judged_days = 0, plays = 0;
  Interval learned_over_start, learned_over_planner, start_over_planner;  // including the error of the model
  Serves serves = Serves::planner;
  bool kept() const { return serves == Serves::learned && passes > 0; }
};
Result<Improvement> improve(const CalibratedDays& days, std::span<const Label> labels, const Network& start,
                            const HindsightOptions& options, models::PolicyTrainer& trainer);

// Returns the interval of a's energy over b's, if each node's joules may independently be off by the share
// `node_error`.
Interval widened(const Interval& interval, const PlayedDays& a, const PlayedDays& b, double node_error);

}  // namespace wattle::sim::consolidation
