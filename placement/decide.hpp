// decide: one pod, one view, one policy -> scores, advice and its whole explanation. The same code live and simulated.
// Masks    come before every policy: a node that they exclude is never advised and scores 0. Soft masks (placement/soft_masks) come
//          after them, and leave at least one of the feasible nodes
// Scores   the advised node 10; of other feasible nodes the kRanked best 0..5 by the policy's values between worst and best;
//          the rest, masked and unknown nodes 0. For a pod with a score_limit the advised node gets that, and all others 0
// Ahead    of nodes that can take the pod, only those count that leave the pods that come next as much room as any of them does
//          (placement/look_ahead); a pod that may wait and had better is advised nowhere (placement/deferral). With neither next pods nor
//          permission nothing of this is looked at
// Errors   none: with no candidates, all masked, or all that are feasible worth the same, the advice is neutral (all 0) and says why
// Threads  pure but for the policy, its knowledge and the generator passed in
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
#include "placement/cluster_view.hpp"
#include "placement/decided_by.hpp"
#include "placement/deferral.hpp"
#include "placement/features.hpp"
#include "placement/look_ahead.hpp"
#include "placement/policies/policy.hpp"
#include "placement/reward.hpp"
#include "placement/row_index.hpp"
#include "placement/soft_masks.hpp"

namespace wattle::placement {

// Who is behind so many others is not chosen for being ranked, and each score costs kube-scheduler some microseconds.
inline constexpr std::size_t kRanked = 100;
// A record names each known node once, and so many of those that nobody knows; of the rest it says how many.
inline constexpr std::size_t kUnknownRecorded = 32;

// Who decides, and from what it knows.
struct PolicyInputs {
  Policy& policy;
  const models::QNetwork* network = nullptr;  // null: a policy that learns goes by the predicted reward
  ClusterModel* knowledge = nullptr;          // null: what the view says
  RowIndex* index = nullptr;                  // kept from decision to decision for speed; null: made for this one
  std::span<const std::size_t> rows;          // what it says of the candidates, if they have been looked up already
  std::size_t shortlist = 0;                  // nodes that the network ranks; 0: all
  Fleet* copy = nullptr;  // the view's nodes, where they are no cluster that is known (PolicyContext)
  Ahead ahead;
  std::string_view gate;  // why a gate keeps the network from being asked; empty: none does. Outlives the call
};

struct DecideOptions {
  RewardConfig reward;
  MaskOptions mask;
  double epsilon = 0.0;      // exploration rate
  double safe_margin = 0.5;  // explore only among nodes whose Q is within this of the best (reward units)
};

struct PlacementDecision {
  std::vector<std::string> candidates;  // node names, as asked, unknown ones included
  std::vector<std::int64_t> scores;     // 0..10, one per candidate
  std::optional<std::size_t>
      top;  // index into candidates; absent: neutral, and it can still be learned from if a node was feasible
  // What learning needs: rows are the candidates that the view knows, row_of[candidate] is its row or npos.
  models::Observation observation;
  std::vector<std::size_t> row_of;
  std::vector<std::size_t> node;        // index into the view's nodes, by row
  std::vector<double> values;           // the policy's, by row; of feasible rows
  std::vector<Prediction> predictions;  // by row: what the prior is made of
  double max_abs_residual = 0;          // that the network said of a feasible row; infinite: it said what is no number
  wire::Decision record;                // without id, wall_ns, mode, model_step, decide_us
  std::vector<std::size_t> recorded;    // the row of each of the record's candidates, or npos
  std::optional<Deferral> deferred;     // it had better wait; `top` is absent
};

// Latency limits that are no times go, and a soft one above the hard one: a hard limit is never loosened. Says what went.
PodSpec with_sane_limits(const PodSpec& pod, std::vector<std::string>& problems);

// `candidates` may name nodes that the view does not know.
PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                         const PolicyInputs& mind, const DecideOptions& options, std::uint64_t turn,
                         std::mt19937_64& random);

// The snapshot behind RawOutcome::before and the rest that is known when the pod is placed. Limits are those that
// decide() went by.
RawOutcome begin_outcome(const ClusterView& view, const PodSpec& pod, std::size_t node, const RewardConfig& reward);

}  // namespace wattle::placement
