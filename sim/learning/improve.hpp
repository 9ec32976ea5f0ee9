// improve: a network that is better on one cluster's own days: recorded days are played again on a model of that cluster, choices are judged by
// paired lookahead, a network goes on from the start by imitation, and it is kept only when days that it did not see confirm it.
// Model    what was recorded (cluster_record) on curves that are scaled, node by node, so that placements as they were draw the joules that
//          were measured on the days learned from; what is off on the last days all the same widens the verdict's intervals
// Days     the last quarter judges, the others are learned from (sim/learning/hindsight)
// Shards   labels may be made by several processes, each of every so manieth judged decision; put together they are the same, bit by bit
// Units    joules, seconds; energy of one over that of another less 1
// Errors   forwards the trainer's
// Threads  single owner; the same record and options give the same labels and weights
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/learning/cluster_record.hpp"
#include "sim/learning/hindsight.hpp"

namespace wattle::sim::consolidation {

// Measured joules over those of the model, placements as they were.
struct Calibration {
  static constexpr double kUnmeasured = 0.10;  // how far a node may be off of which nothing was measured
  std::vector<double> node_ratio;              // by node; 1 where too little was measured
  double node_error = kUnmeasured;             // of a node's joules on the judging days, root mean square
  std::size_t measured_hours = 0;              // of nodes, on all days
};
// `learned`: so many days count for the ratios, the others for the error.
Calibration calibrate(const ClusterRecord& record, std::span<const RecordedDay> days, std::size_t learned);

struct ImproveOptions {
  DayOptions days;
  HindsightOptions hindsight;
};
struct CalibratedDays {
  RecordedDays recorded;
  std::size_t learned = 0;  // of them
  Calibration calibration;  // that their servers have
};
Result<CalibratedDays> calibrated_days(const ClusterRecord& record, const ImproveOptions& options,
                                       const std::string& subject);

// Of a day that is learned from.
std::vector<Label> judge_day(const CalibratedDays& days, std::size_t day, const LabelOptions& options,
                             const Network& start);

struct Improvement {
  models::Weights weights;  // the start's where no pass was better
  std::size_t labels = 0, passes = 0;
  std::size_t judged_days = 0, plays = 0;
  Interval learned_over_start, learned_over_planner, start_over_planner;  // with what the model cannot explain
  Serves serves = Serves::planner;
  bool kept() const { return serves == Serves::learned && passes > 0; }
};
Result<Improvement> improve(const CalibratedDays& days, std::span<const Label> labels, const Network& start,
                            const HindsightOptions& options, models::PolicyTrainer& trainer);

// The interval of a's energy over b's, where each node's joules may be off by `node_error` of them, each by itself.
Interval widened(const Interval& interval, const PlayedDays& a, const PlayedDays& b, double node_error);

}  // namespace wattle::sim::consolidation
