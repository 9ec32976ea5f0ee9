#include "controller/power/shallow_orders.hpp"

#include <algorithm>
#include <utility>

#include "controller/state/cluster_state.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

bool has_work(const ClusterState& state, const controller::Node& node) {
  for (const auto* uids : {&node.pods, &node.in_flight})
    for (const std::string& uid : *uids) {
      const Pod* pod = state.pod(uid);
      if (pod != nullptr && (!pod->spec.daemonset || pod->spec.latency_soft_ms || pod->spec.latency_hard_ms))
        return true;
    }
  return false;
}

// The plan names one cause per node, which can hide these.
bool stays_fast(const core::SleepNode& node, WallTime now, Duration stay_awake) {
  const core::SleepFacts& facts = node.facts;
  if (facts.mode != core::SleepMode::automatic || !node.ready || node.record.state != core::PowerState::awake)
    return true;
  const auto& woken = node.record.last_woken;
  return facts.control_plane || facts.runs_controller || facts.runs_scheduler || !facts.excluded_by.empty() ||
         (woken && now >= *woken && now - *woken < stay_awake);
}

}  // namespace

bool offers_shallow(const ClusterState& state, const controller::Node& node) {
  return std::ranges::count(node.hello.features, kShallow) > 0 && !has_work(state, node);
}

std::set<std::string> choose_shallow(const SleepSnapshot& snapshot, core::SleepPlan& plan) {
  std::set<std::string> names;
  if (!snapshot.acts) return names;
  for (core::KeptAwake& kept : plan.kept) {
    const core::SleepNode& node = snapshot.nodes[kept.row];
    if (!snapshot.offers_shallow.contains(node.name) ||
        stays_fast(node, snapshot.now, snapshot.config.rules.stay_awake))
      continue;
    if (names.insert(node.name).second) kept.why.reason += " (shallow)";
  }
  return names;
}

bool ShallowOrders::send(const std::string& node, Duration time) const {
  if (!send_) return false;
  wire::SleepOrder order;
  order.depth = kShallow;
  order.by_agent = true;
  order.wake_after_s = static_cast<std::uint64_t>(time / std::chrono::seconds(1));
  const Status sent = send_(node, order);
  if (!sent)
    log_.warn("shallow.not_sent", "an order about energy settings did not reach its node", {{"error", sent.error()}});
  return sent.has_value();
}

void ShallowOrders::choose(std::set<std::string> nodes) {
  chosen_ = std::move(nodes);
  new_choice_ = true;
}

void ShallowOrders::turn(const ClusterState& state) {
  std::erase_if(chosen_, [&state](const std::string& name) {
    const controller::Node* node = state.node(name);
    return node == nullptr || has_work(state, *node);
  });
  std::erase_if(sent_, [this](const auto& item) {
    if (chosen_.contains(item.first)) return false;
    send(item.first, Duration(0));
    return true;
  });
  if (!std::exchange(new_choice_, false)) return;
  const MonoTime now = clock_.mono();
  for (const std::string& node : chosen_) {
    const auto before = sent_.find(node);
    if (before != sent_.end() && now - before->second < kRepeatEvery) continue;
    if (!send(node, kShallowFor)) continue;
    if (before == sent_.end())
      log_.info("shallow.ordered", "an idle node that stays awake gets the lowest energy settings", {{"node", node}});
    sent_[node] = now;
  }
}

void ShallowOrders::end(const std::string& node) {
  chosen_.erase(node);
  if (sent_.erase(node) > 0) send(node, Duration(0));
}

}  // namespace wattle::controller::power
