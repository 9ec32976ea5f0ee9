// prior: what each reward preset makes of a node before anything is learned of it; stated here alone, for decisions (from a view) and
// for experience that is judged anew (from features).
// Method   the preset's own formula on the state as it is and on what models foresee of the pod there; where that formula only tells
//          best from worst a grade is added that never outweighs it (docs/reference/rewards.md, the prior of Q)
// Units    the preset's reward; watts, seconds, milliseconds, shares 0..1
// Errors   none: what is not known counts nothing, what is not finite 0
// Threads  pure functions, values
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/reward.hpp"

namespace wattle::placement {

// Pods of this request that an empty node takes, at least 1.
double slots_for(const NodeView& node, const PodSpec& pod);
// Idle watts of a pod's share of the node and the watts that its demand adds: what it costs there in the long run.
double amortised_w(const NodeView& node, const PodSpec& pod, double demand_cores);

// What is foreseen of one node, should the pod come there.
struct Outlook {
  WorkerBefore now;                        // in flight and unsettled pods included
  double cpu_after = 0, memory_after = 0;  // used shares with the pod
  double saved_w = 0;                      // the compared nodes' mean amortised watts minus this node's
  double added_w = 0;                      // wake included
  double node_w = 0;                       // of the whole node with the pod
  std::optional<double> latency_ms;        // to the pod's target
  std::optional<double> cpu_some_ratio;    // PSI
};
// What is foreseen of the pod.
struct PodOutlook {
  std::optional<double> life_s;  // absent: it outlasts the horizon
  std::optional<double> latency_soft_ms, latency_hard_ms;
};

// The terms of the prior, weights included.
struct PredictedTerms {
  double energy = 0, latency = 0;  // of weighted; of expression what the term adds to it
  double other = 0;                // of expression its rest; of the other presets all
  double value() const { return energy + latency + other; }
};
// One for each of the nodes compared. A reward without prior: zeros.
std::vector<PredictedTerms> predicted_terms(const RewardConfig& config, const PodOutlook& pod,
                                            std::span<const Outlook> nodes);

// What `evaluate` will say of a placement on a node, as far as models predict it: the prior of Q.
struct Prediction {
  double marginal_w = 0;            // watts that the pod adds, wake not included
  double marginal_with_wake_w = 0;  // idle watts and wake energy of a sleeping node included
  double amortised_w =
      0;  // idle watts / pods of this size that fit an empty node + marginal watts + waiting at its price
  PredictedTerms terms;
  double slots = 1;                  // pods of this request that the empty node takes
  std::optional<double> latency_ms;  // to the pod's target
  double latency_price = 1;          // placement/objective: it moves what is chosen, and nothing of what is predicted
  double value() const { return terms.value(); }
  // The prior's: the latency term at its price, and all terms with it.
  double priced_latency() const { return latency_price > 1 ? latency_price * terms.latency : terms.latency; }
  double priced_value() const { return terms.energy + priced_latency() + terms.other; }
};
std::vector<Prediction> predict(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows,
                                const PodSpec& pod, double demand_cores);
// Their terms, by their watts against each other; one for each of the rows, indices into the view's nodes.
void judge(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
           std::span<Prediction> predictions);

}  // namespace wattle::placement
