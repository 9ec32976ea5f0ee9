// koordinator: Koordinator's LoadAwareScheduling: pkg/scheduler/plugins/loadaware/load_aware.go and
// estimator/default_estimator.go with their default arguments. Pods bound since the last report reserve their estimate.
// The source refines the estimate of pods bound within a report's interval by their usage; a view has no usage per pod.
// A node without a report for 180 s passes the filter and scores 0. The filter by usage including this pod (CPU 65 %,
// memory 95 %, whole percents) leaves pods pending; a policy only ranks, so that the scores decide if it rejects every
// node.
#include <cmath>

#include "lab/policies/assumed.hpp"
#include "lab/policies/makers.hpp"

namespace wattle::placement {

namespace {

constexpr double kCpuFactor = 0.85, kMemoryFactor = 0.70;                             // of the request
constexpr double kDefaultCpuCores = 0.25, kDefaultMemoryBytes = 200.0 * 1024 * 1024;  // of a pod without requests
constexpr double kExpired_s = 180;
constexpr double kCpuThreshold_pct = 65, kMemoryThreshold_pct = 95;

Resources estimate(const Resources& request) {
  return {request.cpu_cores > 0 ? kCpuFactor * request.cpu_cores : kDefaultCpuCores,
          request.memory_bytes > 0 ? kMemoryFactor * request.memory_bytes : kDefaultMemoryBytes};
}

bool exceeds(double used, double capacity, double threshold_pct) {
  return capacity > 0 && std::round(100 * used / capacity) > threshold_pct;
}

double least_requested(double used, double capacity) {
  return capacity <= 0 || used > capacity ? 0 : std::floor((capacity - used) * 100 / capacity);
}

class Koordinator final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    const Resources own = estimate(context.request());
    const double now_s = on_view_clock_s(context.view().now);
    bool any = false;
    std::vector<bool> refused(values.size(), false);
    for (const std::size_t row : context.feasible()) {
      const NodeView& node = context.node_view(row);
      if (!node.telemetry_age || seconds(*node.telemetry_age) > kExpired_s || !node.values.cpu_used_cores) {
        any = true;
        continue;
      }
      const double reported_s = on_view_clock_s(context.view().now - *node.telemetry_age);
      const Resources assumed = assumed_.sum(node.name, reported_s, now_s);
      const double cpu = *node.values.cpu_used_cores + assumed.cpu_cores + own.cpu_cores;
      const double memory =
          static_cast<double>(node.values.memory_used_bytes.value_or(0)) + assumed.memory_bytes + own.memory_bytes;
      refused[row] = exceeds(cpu, node.allocatable.cpu_cores, kCpuThreshold_pct) ||
                     exceeds(memory, node.allocatable.memory_bytes, kMemoryThreshold_pct);
      any = any || !refused[row];
      values[row] = std::floor(
          (least_requested(cpu, node.allocatable.cpu_cores) + least_requested(memory, node.allocatable.memory_bytes)) /
          2);
    }
    for (std::size_t row = 0; any && row < values.size(); ++row)
      if (refused[row]) values[row] = -1;
  }
  void placed(const PodEvent& pod) override { assumed_.add(pod.name, pod.now_s, estimate(pod.ask.request)); }

 private:
  AssumedPods assumed_;
};

}  // namespace

MadePolicy make_koordinator(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<Koordinator>(info);
}

}  // namespace wattle::placement
