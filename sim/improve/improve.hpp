// improve: makes a network that is better on one cluster's own days. Replays recorded days on a model of that cluster,
// judges choices by paired lookahead, continues from the start network by imitation, and keeps the result only if
// unseen days confirm it.
// Model    the record (cluster_record) with curves scaled per node, so that the real placements draw the measured
//          joules on the days used for learning. The remaining error on the last days widens the verdict's intervals
// Days     the last quarter judges, the others are for learning (sim/improve/hindsight). A verdict needs five judged
//          days, and so ten recorded ones
// Shards   several processes can make the labels, each every n-th judged decision; merged they are the same bit by bit
// Units    joules, seconds; energy ratios minus 1
// Errors   forwards the trainer's
// Threads  single owner; the same record and options give the same labels and weights
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/improve/cluster_record.hpp"
#include "sim/improve/hindsight.hpp"

namespace wattle::sim::consolidation {

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

// Returns the interval of a's energy over b's, if each node's joules may be off by `node_error` of them independently.
Interval widened(const Interval& interval, const PlayedDays& a, const PlayedDays& b, double node_error);

}  // namespace wattle::sim::consolidation
