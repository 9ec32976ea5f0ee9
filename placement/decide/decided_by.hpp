// decided_by: names the source of a decision as one word and as a sentence, by one rule for every policy.
// Source   placement/decide/decide
// Errors   none
// Threads  pure
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "placement/decide/policies/policy.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::placement {

// The words of wire::Decision::decided_by; docs/reference/api.md explains each.
inline constexpr std::array<std::string_view, 9> kDeciders{"bound",   "defer", "explore", "fallback", "network",
                                                           "neutral", "plan",  "rule",    "scheduler"};

enum class Verdict { deferred, neutral, bound, explored, best };

// The policy and the other inputs that ranked the nodes.
struct RankedBy {
  const PolicyInfo& policy;
  Preset preset = Preset::weighted;
  std::string_view gate;  // why the network is not used; empty: it is used
  bool by_rule = false;   // another policy than the planner ranks in its place
  bool with_network = false;
  bool silent = false;  // the network adds the same to all nodes: the prior ranks them
  bool planned = false;
  bool life_known = false;
  bool keeps_plan = false;  // another node's Q is higher, by less than the network's margin
};

// Returns the source of a decision as one word, by which decisions are counted.
std::string decided_by(const RankedBy& by, Verdict verdict);
// Returns the reason for a chosen node.
std::string reason_of(const RankedBy& by, bool explored);
// Returns the reason why none of `feasible` nodes was preferred.
std::string equal_reason(const RankedBy& by, std::size_t feasible);

}  // namespace wattle::placement
