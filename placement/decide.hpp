// decide: one pod, one view, one network -> scores, advice and its whole explanation. The same code live and simulated.
// Scores   the advised node 10; other feasible nodes 0..5 by Q between worst and best; masked and unknown nodes 0
// Errors   none: with no candidates, or all masked, the advice is neutral (all 0) and says why
// Threads  pure but for the generator passed in
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/messages.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/cluster_view.hpp"
#include "placement/features.hpp"
#include "placement/reward.hpp"

namespace wattle::placement {

// dqn learns; the others are fixed rules, selectable at run time and used as baselines.
enum class Policy { dqn, model_greedy, least_allocated, most_allocated, round_robin, random };
std::string_view to_string(Policy policy);
Result<Policy> parse_policy(std::string_view text);

struct DecideOptions {
  Policy policy = Policy::dqn;
  RewardConfig reward;
  MaskOptions mask;
  double epsilon = 0.0;      // exploration rate
  double safe_margin = 0.5;  // explore only among nodes whose Q is within this of the best (reward units)
};

struct Advice {
  std::vector<std::string> candidates;  // node names, as asked, unknown ones included
  std::vector<std::int64_t> scores;     // 0..10, one per candidate
  std::optional<std::size_t> top;       // index into candidates; absent: neutral
  // What learning needs: rows are the candidates that the view knows, row_of[candidate] is its row or npos.
  models::Observation observation;
  std::vector<std::size_t> row_of;
  wire::Decision record;  // without id, wall_ns, mode, model_step, decide_us
};

// Latency limits that are no times go, and a soft one above the hard one: a hard limit is never loosened. Says what went.
PodSpec with_sane_limits(const PodSpec& pod, std::vector<std::string>& problems);

// `candidates` may name nodes that the view does not know. `network` may be null: then dqn acts as model_greedy.
Advice decide(const ClusterView& view, const PodSpec& pod, const std::vector<std::string>& candidates,
              const models::QNetwork* network, const DecideOptions& options, std::uint64_t turn,
              std::mt19937_64& random);

// The snapshot behind RawOutcome::before and the rest that is known when the pod is placed. Limits are those that
// decide() went by.
RawOutcome begin_outcome(const ClusterView& view, const PodSpec& pod, std::size_t node, const RewardConfig& reward);

}  // namespace wattle::placement
