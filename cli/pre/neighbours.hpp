// neighbours: finds other controllers in a cluster that move or resize pods after placement.
// Source   API groups; Deployments and CronJobs by their images; VerticalPodAutoscalers; the status ConfigMap of the
//          Cluster Autoscaler
// Gives    a warning for each: its effect on placements, and how to prevent it
// Threads  pure
#pragma once

#include <string_view>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

struct Neighbourhood {
  OrderedJson groups;                      // GET /apis
  std::vector<OrderedJson> workloads;      // Deployments and CronJobs
  std::vector<OrderedJson> vpas;           // VerticalPodAutoscalers; empty if the kind does not exist
  bool cluster_autoscaler_status = false;  // the ConfigMap kube-system/cluster-autoscaler-status exists
};
bool has_group(const OrderedJson& groups, std::string_view name);
std::vector<Finding> judge_neighbours(const Neighbourhood& seen);

}  // namespace wattle::cli
