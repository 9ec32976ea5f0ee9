// live: what only a cluster or this machine can tell before an installation.
// Errors   a cluster that does not answer is an Error; whatever else is found is a finding
// Threads  single owner
#pragma once

#include <string>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/pre/finding.hpp"

namespace wattle::cli {

struct Installation {
  std::string control = "wattle", agents = "wattle-agent";  // namespaces
  std::string scheduler_tag;                                // empty: the chart takes the cluster's
  std::string storage_class;                                // of the controller's volume; empty: the cluster's default
  bool own_claim = true;                                    // false: its values name a claim that is there
  bool quotas = true;                                       // the chart makes ResourceQuotas for system-* priorities
  std::string agents_priority = "system-node-critical", control_priority = "system-cluster-critical";
};
Result<std::vector<Finding>> examine_cluster(Cluster& cluster, const Installation& installation);
// Every node's object.
Result<std::vector<OrderedJson>> list_nodes(Cluster& cluster);

// What `wattle-agent doctor -o json` finds on this machine: kernel, cgroups, BPF, energy. `program` is it, with or without a path.
Result<std::vector<Finding>> examine_this_node(const std::string& program);
// Of its output.
Result<std::vector<Finding>> findings_of_agent(const std::string& text);

}  // namespace wattle::cli
