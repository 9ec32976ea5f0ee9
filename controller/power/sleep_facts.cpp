#include "controller/power/sleep_facts.hpp"

#include <array>
#include <cmath>

#include "controller/power/sleep_config.hpp"
#include "placement/sleep/transition_cost.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

constexpr const char* kSleepLabel = "wattle.dev/sleep";
constexpr std::array<const char*, 2> kControlPlaneLabels{"node-role.kubernetes.io/control-plane",
                                                         "node-role.kubernetes.io/master"};
constexpr std::array<const char*, 2> kDeviceLabels{"nvidia.com/gpu.product", "amd.com/gpu.product-name"};

// No value: neither the API server nor the agent has the label.
std::optional<std::string> label_of(const controller::Node& node, const char* key) {
  if (node.kube != nullptr)
    if (const auto found = node.kube->labels.find(key); found != node.kube->labels.end()) return found->second;
  const auto found = node.hello.labels.find(key);
  return found == node.hello.labels.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool reports(const controller::Node& node, MonoTime now, double stale_after_s) {
  return node.connected && node.sampled_at && seconds(now - *node.sampled_at) <= stale_after_s;
}

core::SleepMode asked_mode(const controller::Node& node) {
  return parse_sleep_label(label_of(node, kSleepLabel).value_or("off")).value_or(core::SleepMode::off);
}

core::SleepFacts facts_of(const controller::Node& node, const SleepPods& pods,
                          const std::vector<DisruptionBudget>& unsatisfied) {
  core::SleepFacts facts;
  for (const char* key : kControlPlaneLabels) facts.control_plane = facts.control_plane || label_of(node, key);
  for (const char* key : kDeviceLabels)
    if (facts.device_class.empty()) facts.device_class = label_of(node, key).value_or("");
  if (node.kube != nullptr) {
    facts.held_by = node.kube->drainer.holds;
    facts.emptied_by = node.kube->drainer.empties;
  }
  pods.judge(node.hello.node, unsatisfied, facts);
  return facts;
}

std::string name_of(const std::string& uid, const placement::PodSpec& pod) {
  if (pod.name.empty()) return uid;
  return pod.pod_namespace.empty() ? pod.name : pod.pod_namespace + "/" + pod.name;
}

std::string pod_on(const ClusterState& state, const controller::Node& node) {
  for (const auto* uids : {&node.pods, &node.in_flight})
    for (const std::string& uid : *uids) {
      const Pod* pod = state.pod(uid);
      if (pod == nullptr || pod->spec.daemonset) continue;
      return name_of(uid, pod->spec);
    }
  return {};
}

core::NodePowerRecord awake_record(const std::string& name, WallTime now) {
  core::NodePowerRecord record;
  record.node = name;
  record.state = core::PowerState::awake;
  record.since = now;
  return record;
}

NodeSleep shown_of(const core::NodePowerRecord& record, double idle_w, bool may_sleep) {
  NodeSleep shown;
  shown.asleep = record.state == core::PowerState::asleep || record.state == core::PowerState::waking ||
                 (record.state == core::PowerState::suspending && record.goodbye);
  shown.closed = !takes_pods(record);
  // In steps, because each change marks the node as changed, and the idle power is refitted continually.
  constexpr double kCostStep_j = 100;
  const core::TransitionCost cost = core::cost_of(record, record.depth, idle_w);
  if (shown.asleep || may_sleep) shown.wake_cost_j = kCostStep_j * std::ceil(cost.wake_j / kCostStep_j);
  shown.asleep_w = cost.asleep_w;
  return shown;
}

}  // namespace wattle::controller::power
