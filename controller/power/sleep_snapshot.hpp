// sleep_snapshot: a copy of what the sleep plan needs, so that another thread makes the plan while the loop goes on.
// Units    in names
// Errors   none
// Threads  values
#pragma once

#include <string>
#include <vector>

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
  std::vector<placement::sleep::PendingPod> pending;
  placement::sleep::DemandOutlook outlook;
  placement::sleep::SleepConfig config;
};

// Adds a node with its pods and those on the way to it.
void add_node(SleepSnapshot& snapshot, const ClusterState& state, const controller::Node& node,
              placement::sleep::SleepFacts facts, placement::sleep::NodePowerRecord record, bool ready);
// Adds the pods that wait for a node. `watched`: an API server has them.
void add_pending(SleepSnapshot& snapshot, const ClusterState& state, bool watched);
// Cores that all running and waiting pods request.
double requested_cores(const SleepSnapshot& snapshot);

// The plan as a recommendation.
placement::sleep::SleepPlan plan_of(SleepSnapshot& snapshot);

}  // namespace wattle::controller::power
