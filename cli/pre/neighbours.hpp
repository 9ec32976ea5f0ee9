// neighbours: what else in a cluster moves or resizes pods after they were placed.
// Source   API groups; Deployments and CronJobs by the images that they run; VerticalPodAutoscalers; the ConfigMap in which the Cluster
//          Autoscaler tells its state
// Gives    a warning for each that is there: what it undoes, and how to keep it from that
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
  std::vector<OrderedJson> vpas;           // VerticalPodAutoscalers; none where there is no such kind
  bool cluster_autoscaler_status = false;  // ConfigMap kube-system/cluster-autoscaler-status is there
};
bool has_group(const OrderedJson& groups, std::string_view name);
std::vector<Finding> judge_neighbours(const Neighbourhood& seen);

}  // namespace wattle::cli
