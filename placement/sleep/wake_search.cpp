#include "placement/sleep/wake_search.hpp"

#include <algorithm>
#include <tuple>

#include "placement/sleep/plan_text.hpp"

namespace wattle::placement::sleep {

namespace {

class WakeSearch {
 public:
  WakeSearch(PlanState& state, SleepPlan& plan) : state_(state), plan_(plan) {}
  void run() {
    for_state();
    for_pending();
    for_demand();
  }

 private:
  // Rank of a node that can be woken now; no value if it cannot.
  std::optional<int> rank(std::size_t row) const {
    if (state_.available(row)) return std::nullopt;
    const SleepNode& node = state_.node(row);
    switch (node.record.state) {
      case PowerState::idle:
      case PowerState::draining:
        return 0;
      case PowerState::asleep:
        return node.facts.can_wake ? std::optional(1) : std::nullopt;
      case PowerState::suspending:
        return node.facts.can_wake ? std::optional(2) : std::nullopt;
      default:
        return std::nullopt;
    }
  }
  template <class Accepts>
  std::optional<std::size_t> best(const Accepts& accepts) const {
    std::optional<std::size_t> chosen;
    const auto key = [&](std::size_t row) { return std::tuple(*rank(row), state_.node(row).order, row); };
    for (std::size_t row = 0; row < state_.fleet.nodes.size(); ++row)
      if (rank(row) && accepts(row) && (!chosen || key(row) < key(*chosen))) chosen = row;
    return chosen;
  }
  WakeChoice& wake(std::size_t row, WakeFor cause, std::string reason) {
    state_.becomes_coming(row);
    return plan_.wakes.emplace_back(WakeChoice{row, state_.node(row).name, cause, {}, std::move(reason)});
  }
  // A pod without a working node.
  struct UnplacedPod {
    const std::string* uid;
    const PodEstimate* estimate;
    WakeFor cause;
    std::string reason;
    bool refused = false;
  };
  void for_state();
  void for_pending();
  void for_demand();

  PlanState& state_;
  SleepPlan& plan_;
};

void WakeSearch::for_state() {
  for (std::size_t row = 0; row < state_.fleet.nodes.size(); ++row) {
    const SleepNode& node = state_.node(row);
    if (!rank(row)) continue;
    const bool off = node.record.state == PowerState::asleep || node.record.state == PowerState::suspending;
    if (off && !node.pods.empty()) {
      wake(row, WakeFor::bound_pod, "pod " + node.pods.front().name + " is bound to it");
    } else if (!node.facts.excluded_by.empty()) {
      wake(row, WakeFor::excluded, "it is excluded: " + node.facts.excluded_by);
    }
  }
}

void WakeSearch::for_pending() {
  std::vector<UnplacedPod> pods;
  for (const PendingPod& pod : state_.in.pending)
    pods.push_back({&pod.uid, &pod.estimate, WakeFor::pending_pod,
                    "pod " + pod.name +
                        (pod.refused ? " is refused by its scheduler on all awake nodes" : " fits on no awake node"),
                    pod.refused});
  for (const SleepNode& node : state_.in.nodes) {
    if (node.record.state != PowerState::failed) continue;
    for (const SleepPod& pod : node.pods)
      pods.push_back({&pod.uid, &pod.estimate, WakeFor::lost_node,
                      "pod " + pod.name + " of " + node.name + ", which is lost, fits on no awake node"});
  }
  std::stable_sort(pods.begin(), pods.end(), [](const UnplacedPod& a, const UnplacedPod& b) {
    return a.estimate->request.cpu_cores > b.estimate->request.cpu_cores;
  });
  for (const UnplacedPod& pod : pods) {
    const std::optional<std::size_t> placed = state_.place(*pod.uid, *pod.estimate, std::nullopt, pod.refused);
    if (placed) {
      const auto woken = std::find_if(plan_.wakes.begin(), plan_.wakes.end(),
                                      [&](const WakeChoice& wake) { return wake.row == *placed; });
      if (woken != plan_.wakes.end()) woken->pods.push_back(*pod.uid);
      continue;
    }
    const auto sleeper = best([&](std::size_t row) { return state_.takes(row, *pod.uid, *pod.estimate); });
    if (!sleeper) {
      if (pod.refused && state_.place(*pod.uid, *pod.estimate)) continue;
      if (pod.cause == WakeFor::pending_pod) plan_.unplaceable.push_back(*pod.uid);
      continue;
    }
    state_.reserve(*sleeper, *pod.estimate);
    wake(*sleeper, pod.cause, pod.reason).pods.push_back(*pod.uid);
  }
}

void WakeSearch::for_demand() {
  const SleepInputs& in = state_.in;
  const SleepRules& rules = state_.config.rules;
  const std::size_t woken = in.ledger->wakes_within(in.now, std::chrono::minutes(1));
  std::size_t left = rules.wakes_per_minute > woken ? rules.wakes_per_minute - woken : 0;
  const double recent_cores = in.outlook->mean(in.now, rules.up_after);
  for (; left > 0; --left) {
    const auto row = best([](std::size_t) { return true; });
    if (!row) return;
    const Duration ahead = from_seconds(wake_lead_s(state_.cost(*row)));
    const double expected_cores = in.outlook->expected(in.now, in.now + ahead).value_or(0);
    const Resources capacity = state_.capacity(), spare = state_.spare(std::nullopt, !state_.wakes_in_time(*row));
    const bool memory = capacity.memory_bytes < state_.requested().memory_bytes + spare.memory_bytes;
    const bool recent = capacity.cpu_cores < recent_cores + spare.cpu_cores;
    if (!memory && !recent && !(capacity.cpu_cores < expected_cores + spare.cpu_cores)) return;
    if (memory || recent) {
      wake(*row, WakeFor::demand,
           memory ? "the memory of the awake nodes does not cover the requests and the spare"
                  : "the awake nodes do not cover the demand of the last minutes and the spare");
    } else {
      wake(*row, WakeFor::expected_demand,
           "at this time of day " + cores_text(expected_cores) + " are expected, more than are awake");
    }
  }
}

}  // namespace

void search_wakes(PlanState& state, SleepPlan& plan) { WakeSearch(state, plan).run(); }

}  // namespace wattle::placement::sleep
