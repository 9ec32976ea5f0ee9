#include "placement/decide/default_choice.hpp"

#include <vector>

#include "placement/decide/policies/kube_scoring.hpp"

namespace wattle::placement {

namespace {

KubeNode node_with(const NodeView& seen, const Resources& added, std::int64_t pods) {
  const KubePod capacity = kube_pod(seen.allocatable);
  const KubePod requested =
      kube_pod({seen.requested.cpu_cores + added.cpu_cores, seen.requested.memory_bytes + added.memory_bytes});
  KubeNode node;
  node.allocatable_milli_cpu = capacity.milli_cpu;
  node.allocatable_memory_bytes = capacity.memory_bytes;
  node.allocatable_pods = static_cast<std::int64_t>(seen.pod_capacity);
  node.requested_milli_cpu = node.nonzero_milli_cpu = requested.milli_cpu;
  node.requested_memory_bytes = node.nonzero_memory_bytes = requested.memory_bytes;
  node.pods = static_cast<std::int64_t>(seen.pods) + pods;
  return node;
}

// Returns whether the pod fits there with room to spare, in the real cluster. Avoids Kubernetes' rounding on most
// nodes: with the scheduler plugin, almost none of them is offered.
bool fits_easily(const NodeView& seen, const Resources& ask) {
  constexpr double kSpareCores = 0.01, kSpareBytes = 1 << 20;
  const auto spare = [](double allocatable, double requested, double in_flight, double asked) {
    return allocatable - requested - in_flight - asked;
  };
  return seen.pods + seen.in_flight + 1 <= seen.pod_capacity &&
         spare(seen.allocatable.cpu_cores, seen.requested.cpu_cores, seen.in_flight_request.cpu_cores, ask.cpu_cores) >=
             kSpareCores &&
         spare(seen.allocatable.memory_bytes, seen.requested.memory_bytes, seen.in_flight_request.memory_bytes,
               ask.memory_bytes) >= kSpareBytes;
}

}  // namespace

std::optional<std::size_t> default_choice(const ClusterView& view, const PodSpec& pod,
                                          std::span<const std::size_t> offered, const AdvisedCluster& copy,
                                          std::mt19937_64& random) {
  std::vector<bool> open(view.nodes.size(), false);
  for (const std::size_t row : offered) open[row] = true;
  const KubePod ask = kube_pod(pod.request);
  const std::vector<AdvisedCluster::Added> added = copy.added(view.nodes.size());
  std::optional<std::size_t> best;
  std::int64_t best_score = 0;
  std::size_t ties = 0;
  for (std::size_t row = 0; row < view.nodes.size(); ++row) {
    const NodeView& seen = view.nodes[row];
    if (!open[row] && !seen.asleep) {
      const auto in_flight = static_cast<std::int64_t>(seen.in_flight);
      if (!seen.ready || fits_easily(seen, pod.request) ||
          fits(node_with(seen, seen.in_flight_request, in_flight), ask))
        continue;
    }
    const KubeNode node = node_with(seen, added[row].request, added[row].pods);
    if (!fits(node, ask)) continue;
    const std::int64_t score = default_score(node, ask);
    if (!best || score > best_score) ties = 0;
    if (ties > 0 && score < best_score) continue;
    best_score = score;
    if (random() % ++ties == 0) best = row;  // reservoir: each tied node has the same chance
  }
  return best;
}

}  // namespace wattle::placement
