// decision_log: the newest decisions, each joined to its placement and outcome.
// Bounds   `capacity` decisions, with kMaxCandidates candidates in total; the oldest are dropped first
// Errors   none: unknown ids are not found
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/wire/messages.hpp"
#include "controller/trainer/serving_model.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/decide/decide.hpp"

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
  // The reward that judged the outcome: its identity (reward_id) and its preset. Empty without an outcome, and in rows
  // that do not record them.
  std::string judged_by, reward_preset;
  double demand_cores = 0;                     // predicted demand of the pod
  std::optional<placement::PodSpec> asked;     // the pod of the request; no value after a restart
  std::optional<placement::PodSpec> recalled;  // the part of the pod that the store keeps; set only after a restart
  std::vector<float> predicted;  // by the models only, one per candidate of the record; empty after a restart
  // Counts at the time of the decision; after a restart the record has only the best candidates.
  std::size_t candidates = 0, masked = 0;
  ModelVersion model;  // source of the residuals; empty if there are none
};

// The two best by the policy's values (the advised one leads unless it was explored), with features. `decision` is the
// advice's record, completed.
LoggedDecision log_entry(const placement::PlacementDecision& advice, wire::Decision decision);

class DecisionLog {
 public:
  static constexpr std::size_t kMaxCandidates = 500'000;  // about 100 MB: large clusters keep fewer decisions
  DecisionLog(std::size_t capacity, std::uint64_t first_id) : capacity_(capacity), next_id_(first_id) {}
  std::uint64_t next_id() { return next_id_++; }
  std::uint64_t last_id() const { return next_id_ - 1; }
  void add(LoggedDecision entry);
  LoggedDecision* find(std::uint64_t id);
  const LoggedDecision* find(std::uint64_t id) const;
  // The newest decision of a decision id, a pod UID, a pod name, or "namespace/name".
  const LoggedDecision* newest(std::string_view pod) const;
  // Records that the decision was added or extended.
  void changed(std::uint64_t id) { changed_.insert(id); }
  // Takes the ids of decisions added or extended since the last call.
  std::set<std::uint64_t> take_changed() { return std::exchange(changed_, {}); }
  std::size_t capacity() const { return capacity_; }
  const std::deque<LoggedDecision>& entries() const { return entries_; }  // oldest first

 private:
  std::size_t capacity_;
  std::size_t candidates_ = 0;          // in entries_
  std::deque<LoggedDecision> entries_;  // ids ascend
  std::uint64_t next_id_;
  std::set<std::uint64_t> changed_;
};

}  // namespace wattle::controller
