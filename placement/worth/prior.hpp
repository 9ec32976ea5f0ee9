// prior: the value of a node by each reward preset before any learning. The only implementation, for decisions (from a
// view) and for relabelled experience (from features).
// Method   the preset's own formula on the current state and the models' forecast with the pod there. If the formula
//          only separates best from worst, a grade is added that never outweighs it (docs/reference/rewards.md, the
//          prior of Q)
// Units    the preset's reward; watts, seconds, milliseconds, shares 0..1
// Errors   none: unknown inputs do not count, values that are not finite are 0
// Threads  pure functions, values
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/worth/reward.hpp"

namespace wattle::placement {

class FactsOfNodes;  // placement/worth/node_facts.hpp

// Number of pods of this request that fit an empty node, at least 1.
double slots_for(const NodeView& node, const PodSpec& pod);
// Idle watts of a pod's share of the node plus the watts that its demand adds: its long-run cost there.
double amortised_w(const NodeView& node, const PodSpec& pod, double demand_cores);

// Forecast for one node if it takes the pod.
struct Outlook {
  WorkerBefore now;                        // including in-flight and unsettled pods
  double cpu_after = 0, memory_after = 0;  // used shares with the pod
  double saved_w = 0;                      // the compared nodes' mean amortised watts minus this node's
  double added_w = 0;                      // including the wake
  double node_w = 0;                       // of the whole node with the pod
  std::optional<double> latency_ms;        // to the pod's target
  std::optional<double> cpu_some_ratio;    // PSI
};
// Forecast for the pod.
struct PodOutlook {
  std::optional<double> life_s;  // unset: it outlasts the horizon
  std::optional<double> latency_soft_ms, latency_hard_ms;
};

// The terms of the prior, weights included.
struct PredictedTerms {
  double energy = 0, latency = 0;  // of weighted; for expression, their contribution to the formula
  double other = 0;                // for expression the rest, for the other presets everything
  double value() const { return energy + latency + other; }
};
// Returns one entry per compared node; zeros for a reward without prior.
std::vector<PredictedTerms> predicted_terms(const RewardConfig& config, const PodOutlook& pod,
                                            std::span<const Outlook> nodes);

// The part of `evaluate` for a placement on a node that models can predict: the prior of Q.
struct Prediction {
  double marginal_w = 0;            // watts that the pod adds, without the wake
  double marginal_with_wake_w = 0;  // including idle watts and wake energy of a sleeping node
  double amortised_w =
      0;  // idle watts / pods of this size that fit an empty node + marginal watts + waiting at its price
  PredictedTerms terms;
  double slots = 1;                  // pods of this request that the empty node takes
  std::optional<double> latency_ms;  // to the pod's target
  double latency_price = 1;          // placement/worth/objective; affects the choice, not the prediction
  double value() const { return terms.value(); }
  // The latency term at its price, and the prior with it.
  double priced_latency() const { return latency_price > 1 ? latency_price * terms.latency : terms.latency; }
  double priced_value() const { return terms.energy + priced_latency() + terms.other; }
};
std::vector<Prediction> predict(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows,
                                const PodSpec& pod, double demand_cores);
// The same without the terms, from facts that were looked at for these rows.
std::vector<Prediction> predict_watts(const RewardConfig& config, const ClusterView& view,
                                      std::span<const std::size_t> rows, const FactsOfNodes& known, const PodSpec& pod,
                                      double demand_cores);
// Computes the terms from the predictions' relative watts. One prediction per row; rows are indices into the view's
// nodes.
void judge(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
           std::span<Prediction> predictions);

}  // namespace wattle::placement
