// open_decisions: keeps decisions whose pod has not been seen on a node yet, with the observation at decision time.
// Bounds   kMax decisions and kMaxRows nodes in all observations; the oldest are dropped first. Entries expire after
//          kForgetAfter
// Errors   none: a dropped decision is not found, and nothing is learned from it
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/clock.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::controller {

struct OpenDecision {
  models::Observation observation;
  std::vector<std::size_t> node;  // of each row; rows of the state do not move
  MonoTime at{};
  std::optional<ArmNow> arm;  // no value if no client asked
  // Predicted reward by row, if the record's observation differs from this one; otherwise empty.
  std::vector<double> predicted;
};

class OpenDecisions {
 public:
  static constexpr std::size_t kMax = 512, kMaxRows = 500'000;
  static constexpr Duration kForgetAfter = std::chrono::minutes(5);

  void add(std::uint64_t id, OpenDecision open);
  // Removes and returns the decision.
  std::optional<OpenDecision> take(std::uint64_t id);
  void expire(MonoTime now);
  std::size_t size() const { return open_.size(); }
  std::size_t rows() const { return rows_; }

 private:
  using Open = std::map<std::uint64_t, OpenDecision>;
  Open::iterator forget(Open::iterator open);

  Open open_;
  std::size_t rows_ = 0;  // in open_
};

}  // namespace wattle::controller
