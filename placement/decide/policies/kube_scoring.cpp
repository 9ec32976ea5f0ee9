#include "placement/decide/policies/kube_scoring.hpp"

#include <algorithm>
#include <cmath>

#include "placement/decide/policies/makers.hpp"

namespace wattle::placement {

KubePod kube_pod(const Resources& request) {
  // Values of views and fleets may not be finite or may be out of range; a hundred times the millicores must fit an
  // integer.
  const auto sane = [](double value, double most) { return std::isfinite(value) ? std::clamp(value, 0.0, most) : 0.0; };
  // Quantities round up, as in resource.Quantity.
  return {static_cast<std::int64_t>(std::ceil(sane(request.cpu_cores, 1e12) * 1000 - 1e-9)),
          static_cast<std::int64_t>(std::ceil(sane(request.memory_bytes, 1e15)))};
}

void add_pod(KubeNode& node, const KubePod& pod) {
  node.requested_milli_cpu += pod.milli_cpu;
  node.requested_memory_bytes += pod.memory_bytes;
  node.nonzero_milli_cpu += pod.nonzero_milli_cpu();
  node.nonzero_memory_bytes += pod.nonzero_memory_bytes();
  ++node.pods;
}

void remove_pod(KubeNode& node, const KubePod& pod) {
  node.requested_milli_cpu -= pod.milli_cpu;
  node.requested_memory_bytes -= pod.memory_bytes;
  node.nonzero_milli_cpu -= pod.nonzero_milli_cpu();
  node.nonzero_memory_bytes -= pod.nonzero_memory_bytes();
  --node.pods;
}

bool fits(const KubeNode& node, const KubePod& pod) {
  if (node.pods + 1 > node.allocatable_pods) return false;
  // A resource that the pod does not request cannot be short.
  const bool cpu = pod.milli_cpu == 0 || pod.milli_cpu <= node.allocatable_milli_cpu - node.requested_milli_cpu;
  const bool memory =
      pod.memory_bytes == 0 || pod.memory_bytes <= node.allocatable_memory_bytes - node.requested_memory_bytes;
  return cpu && memory;
}

namespace {

std::int64_t least_requested_score(std::int64_t requested, std::int64_t capacity) {
  return requested > capacity ? 0 : (capacity - requested) * kMaxNodeScore / capacity;
}

std::int64_t most_requested_score(std::int64_t requested, std::int64_t capacity) {
  return std::min(requested, capacity) * kMaxNodeScore / capacity;
}

// Mean over the resources that the node has.
template <class Score>
std::int64_t mean_score(const KubeNode& node, const KubePod& pod, Score&& score) {
  std::int64_t sum = 0, weights = 0;
  const auto add = [&](std::int64_t requested, std::int64_t capacity) {
    if (capacity == 0) return;
    sum += score(requested, capacity);
    ++weights;
  };
  add(node.nonzero_milli_cpu + pod.nonzero_milli_cpu(), node.allocatable_milli_cpu);
  add(node.nonzero_memory_bytes + pod.nonzero_memory_bytes(), node.allocatable_memory_bytes);
  return weights == 0 ? 0 : sum / weights;
}

double fraction_of(std::int64_t requested, std::int64_t capacity) {
  return std::min(1.0, static_cast<double>(requested) / static_cast<double>(capacity));
}

// How evenly CPU and memory are requested once the node has the pod: 50 to 100. Up to 1.35 this was the plugin's score.
std::int64_t balance_score(const KubeNode& node, const KubePod& pod) {
  if (node.allocatable_milli_cpu == 0 || node.allocatable_memory_bytes == 0) return kMaxNodeScore;  // a single resource
  const double cpu = fraction_of(node.requested_milli_cpu + pod.milli_cpu, node.allocatable_milli_cpu);
  const double memory = fraction_of(node.requested_memory_bytes + pod.memory_bytes, node.allocatable_memory_bytes);
  const double deviation = std::abs((cpu - memory) / 2);
  return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(kMaxNodeScore));
}

}  // namespace

std::int64_t least_allocated(const KubeNode& node, const KubePod& pod) {
  return mean_score(node, pod, least_requested_score);
}

std::int64_t most_allocated(const KubeNode& node, const KubePod& pod) {
  return mean_score(node, pod, most_requested_score);
}

std::int64_t balanced_allocation(const KubeNode& node, const KubePod& pod) {
  if (pod.milli_cpu == 0 && pod.memory_bytes == 0) return 0;
  constexpr std::int64_t kHalf = kMaxNodeScore / 2;
  return kHalf + (kHalf + balance_score(node, pod) - balance_score(node, {})) / 2;
}

namespace {

class KubeDefault final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    const KubePod pod = context.kube_pod();
    for (const std::size_t row : context.feasible())
      values[row] = static_cast<double>(default_score(context.kube_node(row), pod));
  }
};

}  // namespace

MadePolicy make_kube_default(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<KubeDefault>(info);
}

}  // namespace wattle::placement
