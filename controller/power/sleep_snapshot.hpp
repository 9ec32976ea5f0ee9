// sleep_snapshot: a copy of what the sleep plan needs, so that another thread can make the plan while the loop
// continues.
// Units    in names
// Errors   none
// Threads  values
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/power/node_probes.hpp"
#include "controller/power/refused_pods.hpp"
#include "controller/power/sleep_pods.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/sleep/sleep_plan.hpp"

namespace wattle::controller {
class ClusterState;
struct Node;
}  // namespace wattle::controller

namespace wattle::controller::power {

struct SleepSnapshot {
  WallTime now{};
  placement::ClusterView view;  // rows as in nodes
  std::vector<placement::sleep::SleepNode> nodes;
  std::set<std::string> offers_shallow;  // names of nodes without work whose agents do (shallow_orders.hpp)
  NodeTerms terms;
  std::vector<std::map<std::string, std::string>> labels;  // rows as in nodes; empty where no pod has terms
  std::vector<placement::sleep::PendingPod> pending;
  placement::sleep::DemandOutlook outlook;
  placement::sleep::SleepConfig config;
  placement::sleep::SleepLedger ledger;
  bool acts = false;  // the plan is carried out; else it is a recommendation
};

// Adds a node with its pods and those in flight to it.
void add_node(SleepSnapshot& snapshot, const ClusterState& state, const controller::Node& node,
              placement::sleep::SleepFacts facts, placement::sleep::NodePowerRecord record, bool ready);
// Adds the pods that wait for a node. `watched`: an API server has them.
void add_pending(SleepSnapshot& snapshot, const ClusterState& state, bool watched, RefusedPods& refused);
// Counts pods that are being moved as if they were on their targets.
void reserve(SleepSnapshot& snapshot, const std::vector<placement::sleep::Move>& moves);
// Cores that all running and waiting pods request.
double requested_cores(const SleepSnapshot& snapshot);

// Puts the answers of the drivers into facts and costs. A node sleeps at the lightest depth that its driver offers,
// because a light sleep ends soonest and pays in the shortest gaps. Measured values stay.
void add_probes(SleepSnapshot& snapshot, const std::map<std::string, ProbedNode>& probed);

placement::sleep::SleepPlan plan_of(SleepSnapshot& snapshot);

}  // namespace wattle::controller::power
