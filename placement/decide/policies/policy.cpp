// policy: builds the input of every policy.
#include "placement/decide/policies/policy.hpp"

#include <algorithm>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/view_fleet.hpp"
#include "placement/worth/objective.hpp"

namespace wattle::placement {

std::vector<std::size_t> PolicyContext::feasible_nodes() const {
  std::vector<std::size_t> nodes;
  nodes.reserve(feasible_.size());
  for (const std::size_t row : feasible_) nodes.push_back(node_[row]);
  return nodes;
}

const Fleet& PolicyContext::fleet() {
  if (fleet_ != nullptr) return *fleet_;
  if (copy != nullptr) {
    copy->only = feasible_nodes();
    for (FleetNode& each : copy->nodes) each.open = false;
    for (const std::size_t i : copy->only) copy->nodes[i].open = true;
    fleet_ = copy;
    return *fleet_;
  }
  if (cluster_model_ != nullptr) {
    fleet_ = &cluster_model_->fleet(view_, feasible_nodes());
    return *fleet_;
  }
  constexpr std::uint64_t kReviseEvery = 64;  // decisions, because changes of the curves are not reported
  own_fleet_ = fleet_of(view_);
  own_fleet_->revision = (turn + 1) / kReviseEvery + 1;
  own_fleet_->only = feasible_nodes();
  for (FleetNode& each : own_fleet_->nodes) each.open = false;
  for (const std::size_t i : own_fleet_->only) own_fleet_->nodes[i].open = true;
  fleet_ = &*own_fleet_;
  return *fleet_;
}

const PodEstimate& PolicyContext::ask() {
  if (!ask_) ask_ = cluster_model_ != nullptr ? cluster_model_->ask(pod_) : ask_of(pod_);
  return *ask_;
}

double PolicyContext::late(std::size_t row) {
  if (!pod_.latency_soft_ms && !pod_.latency_hard_ms) return 0;
  return late_cost(fleet().latency_price, pod_, latency_for(node_view(row), pod_));
}

double PolicyContext::added_wait_w(std::size_t row) {
  const Fleet& all = fleet();
  const bool planned = plan != nullptr && row < plan->nodes.size() && fits(all.nodes[node(row)], ask());
  return planned ? plan->nodes[row].wait_w : placement::added_wait_w(all, node(row), ask());
}

// A view has only requests: a pod without requests adds nothing to its node, where the scheduler would count 100m and
// 200 MiB.
KubeNode PolicyContext::kube_node(std::size_t row) const {
  if (!scheduler.empty()) return scheduler[node(row)];
  const NodeView& from = node_view(row);
  const KubePod there = placement::kube_pod({from.requested.cpu_cores + from.in_flight_request.cpu_cores,
                                             from.requested.memory_bytes + from.in_flight_request.memory_bytes});
  const KubePod size = placement::kube_pod(from.allocatable);
  KubeNode made;
  made.allocatable_milli_cpu = size.milli_cpu;
  made.allocatable_memory_bytes = size.memory_bytes;
  made.requested_milli_cpu = made.nonzero_milli_cpu = there.milli_cpu;
  made.requested_memory_bytes = made.nonzero_memory_bytes = there.memory_bytes;
  constexpr std::uint64_t kMost = 1'000'000'000;
  made.pods = static_cast<std::int64_t>(std::min(kMost, from.pods) + std::min(kMost, from.in_flight));
  return made;
}

KubePod PolicyContext::kube_pod() const { return placement::kube_pod(request()); }

}  // namespace wattle::placement
