#include "placement/worth/outcome.hpp"

#include <algorithm>
#include <cmath>

#include "placement/cluster/sane_view.hpp"
#include "placement/worth/features.hpp"

namespace wattle::placement {
namespace {

double fraction(double part, double whole) {
  const double value = whole > 0 ? part / whole : 0.0;
  return std::isfinite(value) ? value : 0.0;
}

bool fits(const NodeView& node, const PodSpec& pod, std::uint64_t more_pods, double times) {
  const auto room = [](double allocatable, double requested) { return !(allocatable > 0) || requested <= allocatable; };
  return room(node.allocatable.cpu_cores, node.requested.cpu_cores + times * pod.request.cpu_cores) &&
         room(node.allocatable.memory_bytes, node.requested.memory_bytes + times * pod.request.memory_bytes) &&
         (node.pod_capacity == 0 || node.pods + more_pods <= node.pod_capacity);
}

}  // namespace

WorkerBefore worker_before(const NodeView& node) {
  WorkerBefore before;
  before.pods = node.pods;
  before.cpu_ratio = cpu_utilisation(node).value_or(fraction(node.requested.cpu_cores, node.allocatable.cpu_cores));
  before.memory_ratio = node.values.memory_used_bytes && node.values.memory_total_bytes
                            ? fraction(static_cast<double>(*node.values.memory_used_bytes),
                                       static_cast<double>(*node.values.memory_total_bytes))
                            : fraction(node.requested.memory_bytes, node.allocatable.memory_bytes);
  before.disk_ratio = node.values.disk_used_ratio.value_or(0);
  before.tcp_established = node.values.tcp_established.value_or(0);
  return before;
}

RawOutcome begin_outcome(const ClusterView& view, const PodSpec& asked, std::size_t node, const RewardConfig& reward) {
  std::vector<std::string> problems;  // reported at decision time
  const PodSpec pod = with_sane_limits(asked, problems);
  RawOutcome outcome;
  const double demand = demand_cores(pod);
  double expected_w = 0;
  std::size_t compared = 0;
  outcome.all_full = !view.nodes.empty();
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const NodeView& worker = view.nodes[i];
    outcome.before.add(worker_before(worker), i == node);
    // Full after the placement: another pod of this kind does not fit.
    if (fits(worker, pod, i == node ? 2 : 1, i == node ? 2 : 1)) outcome.all_full = false;
    if (!worker.ready) continue;
    // Includes the share of idle watts for every node, asleep or not: earlier choices must not change the baseline.
    expected_w += amortised_w(worker, pod, demand);
    ++compared;
  }
  if (node >= view.nodes.size()) outcome.before = {};
  if (compared > 0) outcome.expected_marginal_w = expected_w / static_cast<double>(compared);
  const double life_s = pod.life_s.value_or(reward.horizon_s);
  outcome.expected_life_s = std::isfinite(life_s) ? std::max(life_s, 0.0) : reward.horizon_s;
  outcome.latency_soft_ms = pod.latency_soft_ms;
  outcome.latency_hard_ms = pod.latency_hard_ms;
  if (node < view.nodes.size()) {
    outcome.latency_ms = latency_for(view.nodes[node], pod);
    outcome.was_infeasible = !fits(view.nodes[node], pod, 1, 1);
  }
  return outcome;
}

}  // namespace wattle::placement
