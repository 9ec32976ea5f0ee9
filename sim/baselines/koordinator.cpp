// Koordinator's LoadAwareScheduling: pkg/scheduler/plugins/loadaware/load_aware.go and estimator/default_estimator.go with
// their default arguments. What was bound since the last report is reserved by its estimate (a view has no use of single pods,
// with which the source refines the estimate of those bound within a report's interval). A node that told nothing for 180 s passes
// the filter and scores 0. The filter by usage with this pod in it (CPU 65 %, memory 95 %, whole percents) leaves pods pending;
// nothing pends here, so that when it refuses every node the scores decide.
#include <algorithm>
#include <cmath>

#include "sim/baselines/assumed.hpp"
#include "sim/baselines/registry.hpp"

namespace wattle::sim {

namespace {

constexpr double kCpuFactor = 0.85, kMemoryFactor = 0.70;                             // of the request
constexpr double kDefaultCpuCores = 0.25, kDefaultMemoryBytes = 200.0 * 1024 * 1024;  // of a pod that requests none
constexpr double kExpired_s = 180;
constexpr double kCpuThreshold_pct = 65, kMemoryThreshold_pct = 95;

placement::Resources estimate(const placement::PodSpec& pod) {
  return {pod.request.cpu_cores > 0 ? kCpuFactor * pod.request.cpu_cores : kDefaultCpuCores,
          pod.request.memory_bytes > 0 ? kMemoryFactor * pod.request.memory_bytes : kDefaultMemoryBytes};
}

bool exceeds(double used, double capacity, double threshold_pct) {
  return capacity > 0 && std::round(100 * used / capacity) > threshold_pct;
}

double least_requested(double used, double capacity) {
  return capacity <= 0 || used > capacity ? 0 : std::floor((capacity - used) * 100 / capacity);
}

class Koordinator final : public Baseline {
 public:
  std::string_view name() const override { return "koordinator"; }

  std::vector<double> score(const Sight& sight) override {
    std::vector<double> scores(sight.view.nodes.size(), 0);
    const placement::Resources own = estimate(sight.pod);
    bool any = false;
    std::vector<bool> refused(scores.size(), false);
    for (const std::size_t i : sight.feasible) {
      const placement::NodeView& node = sight.view.nodes[i];
      if (!node.telemetry_age || seconds(*node.telemetry_age) > kExpired_s || !node.values.cpu_used_cores) {
        any = true;
        continue;
      }
      const MonoTime reported = sight.view.now - *node.telemetry_age;
      const placement::Resources assumed = assumed_.sum(i, reported, sight.view.now);
      const double cpu = *node.values.cpu_used_cores + assumed.cpu_cores + own.cpu_cores;
      const double memory =
          static_cast<double>(node.values.memory_used_bytes.value_or(0)) + assumed.memory_bytes + own.memory_bytes;
      refused[i] = exceeds(cpu, node.allocatable.cpu_cores, kCpuThreshold_pct) ||
                   exceeds(memory, node.allocatable.memory_bytes, kMemoryThreshold_pct);
      any = any || !refused[i];
      scores[i] = std::floor(
          (least_requested(cpu, node.allocatable.cpu_cores) + least_requested(memory, node.allocatable.memory_bytes)) /
          2);
    }
    for (std::size_t i = 0; any && i < scores.size(); ++i)
      if (refused[i]) scores[i] = -1;
    return scores;
  }
  void placed(const Sight& sight, std::size_t node) override {
    assumed_.add(node, sight.view.now, estimate(sight.pod));
  }

 private:
  AssumedPods assumed_;
};

}  // namespace

std::unique_ptr<Baseline> make_koordinator() { return std::make_unique<Koordinator>(); }

}  // namespace wattle::sim
