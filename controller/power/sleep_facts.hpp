// sleep_facts: derives facts about a node from its labels and pods, for the rules of placement/sleep.
// Labels   those at the API server take precedence over those in the configuration of the node's agent
// Errors   none
// Threads  pure functions
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/power/disruption_budgets.hpp"
#include "controller/power/node_now.hpp"
#include "controller/power/sleep_pods.hpp"
#include "controller/state/cluster_state.hpp"
#include "placement/sleep/sleep_rules.hpp"

namespace wattle::controller::power {

// True if its agent is connected and its last sample is not older.
bool reports(const controller::Node& node, MonoTime now, double stale_after_s);
// The mode that the label wattle.dev/sleep requests; off without one.
placement::sleep::SleepMode asked_mode(const controller::Node& node);
// Role, device class and hold of the node.
placement::sleep::SleepFacts facts_of(const controller::Node& node, const SleepPods& pods,
                                      const std::vector<DisruptionBudget>& unsatisfied);
// "namespace/name" of a pod, the name of a unit without a namespace, or the uid of an unnamed one.
std::string name_of(const std::string& uid, const placement::PodSpec& pod);
// Name of a pod on the node or expected there, other than those of DaemonSets; empty: none.
std::string pod_on(const ClusterState& state, const controller::Node& node);
// The record of a node that runs and does not sleep by itself.
placement::sleep::NodePowerRecord awake_record(const std::string& name, WallTime now);
// Returns the part of the view that a node's record determines. `may_sleep`: the node may sleep by itself.
NodeSleep shown_of(const placement::sleep::NodePowerRecord& record, double idle_w, bool may_sleep);

}  // namespace wattle::controller::power
