// doubt: the 95% interval of a modelled saving, combined from the known parts of its doubt.
// Parts    models: figures of other models for the same saving. Curve: the fit's error of the idle watts, common to all
//          nodes. Days: how far the figure's pods were from the mean of the following day, on earlier days. Nodes: a
//          figure counts whole nodes, so that one more or one less is as likely
// Rule     all combinations of a quantile of the curve's error, an earlier day and a node more or less are equally
//          likely. The interval has their 2.5% and 97.5% quantiles around the outermost models, and always the figure
// Absent   before kLeastHours known hours: how much the pods change is then unknown
// Units    watts; relative changes as ratios
// Errors   none; values that are not finite are left out
// Threads  pure functions
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "common/stats/interval.hpp"

namespace wattle::placement {

inline constexpr std::size_t kLeastHours = 48;
inline constexpr const char* kTooFewHours = "how much the pods change is unknown before two days of telemetry";

// Mean of the 24 hours after each hour, minus the value of that hour. Empty: fewer than kLeastHours known hours.
std::vector<double> day_errors(std::span<const double> hourly);

struct Doubt {
  std::vector<double> models_w;
  double curve_sd_ratio = 0;   // of the watts
  double node_w = 0;           // of one node
  std::vector<double> days_w;  // added to the figure by each earlier day's change; empty: unknown
  double least_w = 0, most_w = std::numeric_limits<double>::infinity();  // limits of any saving
};
// How the pods of a fleet change, and the doubt that follows for levers.
struct Growth {
  std::vector<double> hourly_pods;  // all pods, oldest first
  double movable_pods = 0;          // now, without DaemonSets
  double curve_sd_ratio = 0;
  double node_w = 0;  // idle, minus asleep; mean
  // Requests and replicas: they save in proportion to the pods.
  Doubt of_changes(double saved_w, std::vector<double> models_w) const;
  // Sleep and drain: more pods need more nodes. `used_w`: idle watts of the nodes that must stay awake now.
  Doubt of_empty(std::vector<double> models_w, double used_w, double most_w) const;
};

// No value before days are known.
std::optional<stats::Interval> interval_of(double saved_w, const Doubt& doubt);

}  // namespace wattle::placement
