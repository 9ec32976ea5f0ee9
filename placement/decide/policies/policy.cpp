// policy: builds the input of every policy, and makes the default choice of a policy that decides alone.
#include "placement/decide/policies/policy.hpp"
#include "placement/decide/policies/kube_scoring.hpp"

#include <algorithm>

namespace wattle::placement {

std::span<const std::size_t> PolicyContext::feasible() {
  if (!feasible_) {
    for (std::size_t i = 0; i < fleet_->nodes.size(); ++i)
      if (fits(fleet_->nodes[i], *ask_)) own_feasible_.push_back(i);
    feasible_ = own_feasible_;
  }
  return *feasible_;
}

std::vector<std::size_t> PolicyContext::feasible_nodes() const {
  std::vector<std::size_t> nodes;
  nodes.reserve(feasible_->size());
  for (const std::size_t row : *feasible_) nodes.push_back(node_[row]);
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
  if (knowledge_ != nullptr) {
    fleet_ = &knowledge_->fleet(*view_, feasible_nodes());
    return *fleet_;
  }
  constexpr std::uint64_t kReviseEvery = 64;  // decisions, because changes of the curves are not reported
  own_fleet_ = fleet_of(*view_);
  own_fleet_->revision = (turn + 1) / kReviseEvery + 1;
  own_fleet_->only = feasible_nodes();
  for (FleetNode& each : own_fleet_->nodes) each.open = false;
  for (const std::size_t i : own_fleet_->only) own_fleet_->nodes[i].open = true;
  fleet_ = &*own_fleet_;
  return *fleet_;
}

const PodEstimate& PolicyContext::ask() {
  if (!ask_) ask_ = knowledge_ != nullptr ? knowledge_->ask(*pod_) : ask_of(*pod_);
  return *ask_;
}

// A view has only requests: a pod without requests adds nothing to its node, where the scheduler would count 100m and
// 200 MiB.
KubeNode PolicyContext::kube_node(std::size_t row) const {
  if (!scheduler.empty()) return scheduler[node(row)];
  if (view_ == nullptr) return placement::kube_node(fleet_->nodes[row]);
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

std::optional<std::size_t> Policy::choose(PolicyContext& context) {
  if (context.feasible().empty()) return std::nullopt;
  std::vector<double> values(context.rows(), 0.0);
  score(context, values);
  std::vector<std::size_t> best;
  for (const std::size_t row : context.feasible()) {
    if (!best.empty() && values[row] < values[best.front()]) continue;
    if (!best.empty() && values[row] > values[best.front()]) best.clear();
    best.push_back(row);
  }
  const bool draws = context.random != nullptr && best.size() > 1;
  const std::size_t drawn = draws ? std::uniform_int_distribution<std::size_t>(0, best.size() - 1)(*context.random) : 0;
  return context.node(best[drawn]);
}

std::optional<std::size_t> choose(Policy& policy, const Fleet& fleet, const PodEstimate& ask) {
  PolicyContext context(fleet, ask, 0, 0);
  return policy.choose(context);
}

}  // namespace wattle::placement
