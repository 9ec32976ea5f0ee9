// decision_log: the newest decisions, each joined to its placement and outcome.
// Bounds   `capacity` decisions, with kMaxCandidates candidates in total; the oldest are dropped first
// Errors   none: unknown ids are not found
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/messages.hpp"
#include "controller/trainer/serving_model.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/decide.hpp"

namespace wattle::controller {

using NodeFeatures = std::array<float, models::kNodeFeatures>;

// Features of the two best nodes.
struct FeatureSnapshot {
  NodeFeatures winner{};
  std::optional<NodeFeatures> runner_up;
  std::array<float, models::kPodFeatures> pod{};
};

// Terms of a node's Q, and the policy's value.
struct Contributions {
  double energy = 0, latency = 0;     // the prior, weights included
  double residual = 0;                // learned
  double policy_value = 0;            // the value for the ranking
  std::optional<double> uncertainty;  // of the predicted reward (prediction_error)
};

struct LoggedDecision {
  wire::Decision decision;
  std::string winner, runner_up;  // by the policy's values; empty: there is none
  std::optional<FeatureSnapshot> features;
  std::optional<Contributions> winner_terms, runner_up_terms;
  // Expected reward of the node of the placement; unset: the record's candidate has it.
  std::optional<double> expected;
  std::string judged_by;    // identity of the reward that judged the outcome (reward_id); empty: unknown
  double demand_cores = 0;  // that the pod was reckoned with
  std::optional<placement::PodSpec> asked;     // as it was asked for; absent: of before a restart
  std::optional<placement::PodSpec> recalled;  // as far as a restart keeps it; absent: of after the restart, or of 0.1
  std::vector<float>
      predicted;  // reward by models alone, one for each of the record's candidates; empty: of before a restart
  std::size_t candidates = 0,
              masked = 0;  // that it was made among; the record of one of before a restart has the best alone
  ModelVersion model;      // that said the residuals; empty where none did
  std::string
      reward_preset;  // that judged the outcome; empty: none did, or it was kept by a version that did not record it
};

// The two best by the policy's values (the advised one leads unless it was explored), with features. `decision` is the
// advice's record, completed.
LoggedDecision log_entry(const placement::PlacementDecision& advice, wire::Decision decision);

class DecisionLog {
 public:
  static constexpr std::size_t kMaxCandidates = 500'000;  // about 100 MB: large clusters keep fewer decisions
  explicit DecisionLog(std::size_t capacity) : capacity_(capacity) {}
  void add(LoggedDecision entry);
  LoggedDecision* find(std::uint64_t id);
  const LoggedDecision* find(std::uint64_t id) const;
  // The newest decision of a decision id, a pod UID, a pod name, or "namespace/name".
  const LoggedDecision* newest(std::string_view pod) const;
  std::size_t capacity() const { return capacity_; }
  const std::deque<LoggedDecision>& entries() const { return entries_; }  // oldest first

 private:
  std::size_t capacity_;
  std::size_t candidates_ = 0;          // in entries_
  std::deque<LoggedDecision> entries_;  // ids ascend
};

}  // namespace wattle::controller
