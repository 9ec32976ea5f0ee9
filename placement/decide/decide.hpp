// decide: computes scores, advice and the full explanation for one pod from one view and one policy. The controller and
// the simulator run the same code.
// Masks    apply before every policy: a masked node is never advised and scores 0. Soft masks
//          (placement/worth/soft_masks) apply next and leave at least one feasible node
// Scores   the advised node gets 10. The kRanked best of the other feasible nodes get 0..5, by the policy's values
//          between worst and best. All others, masked and unknown nodes get 0. For a pod with a score_limit the advised
//          node gets that limit, and all others get 0
// Ahead    keeps only those feasible nodes that leave the most room for the next pods (placement/decide/look_ahead). A
//          pod that may wait is advised no node if waiting is better (placement/decide/deferral). Both are skipped
//          without next pods and without permission to wait
// Errors   none: if there are no candidates, all are masked, or all feasible ones have the same value, the advice is
//          neutral (all 0) and gives the reason
// Threads  pure except for the policy, its cluster model and the generator passed in
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/messages.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/row_index.hpp"
#include "placement/decide/decided_by.hpp"
#include "placement/decide/deferral.hpp"
#include "placement/decide/look_ahead.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/worth/features.hpp"
#include "placement/worth/node_facts.hpp"
#include "placement/worth/reward.hpp"
#include "placement/worth/soft_masks.hpp"

namespace wattle::placement {

// Nodes beyond this rank would hardly be chosen by their score, and each score costs kube-scheduler some microseconds.
inline constexpr std::size_t kRanked = 100;
// A record names each known node once and this many unknown nodes, and counts the others.
inline constexpr std::size_t kUnknownRecorded = 32;

// The policy of a decision and its inputs.
struct PolicyInputs {
  Policy& policy;
  const models::QNetwork* network = nullptr;  // null: a policy that learns uses the predicted reward
  ClusterModel* cluster_model = nullptr;      // null: use only the view
  RowIndex* index = nullptr;                  // reused between decisions for speed; null: built for this decision
  std::span<const std::size_t> rows;          // rows of the candidates, if they were looked up already
  std::size_t shortlist = 0;                  // nodes that the network ranks; 0: all
  Fleet* copy = nullptr;  // the view's nodes if they are not those of the cluster model (PolicyContext)
  Ahead ahead;
  std::string_view gate;          // why a gate keeps the network out; empty: it is used. Outlives the call
  Policy* chooser = nullptr;      // ranks nodes in place of `policy`, which still gives features and record
  FactsOfNodes* facts = nullptr;  // kept between decisions on the same view or copies; null: made for this decision
};

struct DecideOptions {
  RewardConfig reward;
  MaskOptions mask;
  double epsilon = 0.0;      // exploration rate
  double safe_margin = 0.5;  // explore only among nodes whose Q is within this of the best (reward units)
};

struct PlacementDecision {
  std::vector<std::string> candidates;  // node names, as requested, including unknown ones
  std::vector<std::int64_t> scores;     // 0..10, one per candidate
  std::optional<std::size_t>
      top;  // index into candidates; unset if neutral; the learner can still use the decision if a node was feasible
  // Input of learning. Rows are the candidates that the view knows; row_of[candidate] is its row or npos.
  models::Observation observation;
  std::vector<std::size_t> row_of;
  std::vector<std::size_t> node;        // index into the view's nodes, by row
  std::vector<double> values;           // the policy's values, by row; set for feasible rows
  std::vector<Prediction> predictions;  // by row: inputs of the prior
  // highest residual of a feasible row; infinite if the network returned a value that is not finite
  double max_abs_residual = 0;
  wire::Decision record;              // without id, wall_ns, mode, model_step, decide_us
  std::vector<std::size_t> recorded;  // the row of each of the record's candidates, or npos
  std::optional<Deferral> deferred;   // set if the pod should wait; then `top` is unset
};

// `candidates` may contain nodes that the view does not know.
PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                         const PolicyInputs& inputs, const DecideOptions& options, std::uint64_t turn,
                         std::mt19937_64& random);

}  // namespace wattle::placement
