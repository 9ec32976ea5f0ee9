// explain: why this node and not the next best: terms of Q, and every feature by name.
// Units    terms in reward units; features as docs/features.md normalises them
// Threads  pure functions
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placement/decide.hpp"

namespace wattle::placement {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct NodeExplanation {
  std::string node;
  double q = 0;       // sum of the terms
  NamedValues terms;  // "energy", "latency" (predicted reward), "residual" (learned)
  double marginal_w = 0;
  double marginal_with_wake_w = 0;
  double amortised_w = 0;
  NamedValues features;
};

struct Explanation {
  std::string reason;
  std::optional<NodeExplanation> winner;     // absent: neutral
  std::optional<NodeExplanation> runner_up;  // highest Q of the other feasible candidates
  NamedValues pod;                           // pod features
  NamedValues context;
};

// `view`, `pod` and `reward` as they were when `advice` was given.
Explanation explain(const Advice& advice, const ClusterView& view, const PodSpec& pod, const RewardConfig& reward);

}  // namespace wattle::placement
