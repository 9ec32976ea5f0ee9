// live: checks before an installation that need a cluster or this machine.
// Errors   a cluster without an answer is an Error; every other problem is a finding
// Threads  single owner
#pragma once

#include <string>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/pre/finding.hpp"

namespace wattle::cli {

struct Installation {
  std::string control = "wattle", agents = "wattle-agent";  // namespaces
  std::string scheduler_tag;                                // empty: the chart uses the cluster's
  std::string storage_class;                                // of the controller's volume; empty: the cluster's default
  bool own_claim = true;                                    // false: the values name an existing claim
  bool quotas = true;                                       // the chart creates ResourceQuotas for its priorities
  std::string agents_priority = "system-node-critical", control_priority = "system-cluster-critical";
  // `resources` of the agents and of the controller
  OrderedJson agents_resources = {{"requests", {{"cpu", "20m"}, {"memory", "32Mi"}, {"ephemeral-storage", "64Mi"}}},
                                  {"limits", {{"memory", "128Mi"}}}};
  OrderedJson control_resources = {{"requests", {{"cpu", "500m"}, {"memory", "512Mi"}, {"ephemeral-storage", "128Mi"}}},
                                   {"limits", {{"memory", "2Gi"}}}};
};
Result<std::vector<Finding>> examine_cluster(Cluster& cluster, const Installation& installation);
// Returns every node's object.
Result<std::vector<OrderedJson>> list_nodes(Cluster& cluster);

// Runs `wattle-agent doctor -o json` on this machine: kernel, cgroups, BPF, energy. `program` is its name or path.
Result<std::vector<Finding>> examine_this_node(const std::string& program);
// Parses its output.
Result<std::vector<Finding>> findings_of_agent(const std::string& text);

}  // namespace wattle::cli
