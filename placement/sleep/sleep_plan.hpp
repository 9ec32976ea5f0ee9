// sleep_plan: decides which nodes to put to sleep, which to empty first and which to wake now.
// Sleeps   empty nodes first. Then at most one node is emptied: each of its pods gets a node earlier in the order, by
//          `choose` on the fleet as it would be after the moves before it. A node sleeps only if the other awake nodes
//          cover the recent peak and the spare, and if the expected gap is at least `gap_times` its break-even; a drain
//          also must save `least_j_per_move`
// Gap      until the other awake nodes no longer cover the expected demand (placement/sleep/demand_outlook) and the
//          spare
// Wakes    1. for pods that fit on no awake node, or that their scheduler refuses there, and for pods of a failed node
//          before they are moved: the sleepers that take them are found by simulation and all woken at once; nodes that
//          are only marked come first. 2. for the recent demand and the demand expected once a node has woken. 3. nodes
//          that have a pod bound to them, or were excluded meanwhile. Operators wake nodes without a plan
// Order    `order`: the lowest value stays awake or wakes first, the highest sleeps first (watts per place of a policy,
//          or a learned value); the rules override it
// Units    in names
// Errors   none
// Threads  pure function
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/cluster/fleet.hpp"
#include "placement/sleep/demand_outlook.hpp"
#include "placement/sleep/drain.hpp"
#include "placement/sleep/sleep_ledger.hpp"
#include "placement/sleep/sleep_rules.hpp"
#include "placement/sleep/transition_cost.hpp"

namespace wattle::placement::sleep {

struct SleepPod {
  std::string uid, name, owner;  // as in Move
  PodEstimate estimate;
};

struct SleepNode {
  std::string name;
  SleepFacts facts;
  NodePowerRecord record;
  bool ready = true;
  std::vector<SleepPod> pods;  // without those of DaemonSets and static ones
  double order = 0;
};

struct PendingPod {
  std::string uid, name;
  PodEstimate estimate;
  bool refused = false;  // by its scheduler on every awake node, for reasons that the plan does not know
};

struct SleepConfig {
  SleepRules rules;
  MoveLimits moves;
  double gap_times = 2;  // expected gap over the break-even
  bool drains = true;
  double least_j_per_move = 50'000;  // saved by a drain
  double move_j = 500;               // work that a moved pod repeats
  Duration longest_drain = std::chrono::hours(6);
  Duration longest_gap = std::chrono::hours(24);  // credited to one sleep
};

struct SleepInputs {
  WallTime now{};
  const Fleet* fleet = nullptr;  // rows as in nodes; `requested` and `pods` with the reservations of a running drain
  std::span<const SleepNode> nodes;
  std::span<const PendingPod> pending;
  const DemandOutlook* outlook = nullptr;
  const SleepLedger* ledger = nullptr;
  // Returns whether a pod (uid) may run on a row at all; empty: every pod everywhere.
  std::function<bool(std::string_view pod, std::size_t row)> may_run;
  // Chooses among the open rows of the fleet; empty: the least `order`, nodes with pods first.
  std::function<std::optional<std::size_t>(const Fleet&, const PodEstimate&)> choose;
  bool recommending = false;  // treat `recommend` and unproven nodes like the others, for a plan that does not act
};

struct SleepChoice {
  std::size_t row = 0;
  std::string node;
  Depth depth = Depth::suspend;
  std::vector<Move> moves;  // empty: the node is empty already
  double gap_s = 0, break_even_s = 0, saved_j = 0;
  std::string reason;
};

enum class WakeFor : std::uint8_t { pending_pod, lost_node, bound_pod, demand, expected_demand, excluded };
std::string_view to_string(WakeFor cause);

struct WakeChoice {
  std::size_t row = 0;
  std::string node;
  WakeFor cause{};
  std::vector<std::string> pods;  // uids, of pending_pod and lost_node
  std::string reason;
};

struct KeptAwake {
  std::size_t row = 0;
  std::string node;
  Exclusion why;
};

struct SleepPlan {
  std::vector<SleepChoice> sleeps;
  std::vector<WakeChoice> wakes;
  std::vector<KeptAwake> kept;           // awake nodes that are not among the sleeps
  std::vector<std::string> unplaceable;  // pending pods that fit on no node, asleep or not
  double watts = 0, watts_after = 0;     // of all nodes; after: with the plan carried out
  Resources spare;                       // that stays free on awake nodes
};

SleepPlan plan_sleep(const SleepInputs& in, const SleepConfig& config);

}  // namespace wattle::placement::sleep
