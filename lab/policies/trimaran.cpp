// trimaran: Trimaran of kubernetes-sigs/scheduler-plugins: pkg/trimaran/targetloadpacking/targetloadpacking.go and
// pkg/trimaran/loadvariationriskbalancing/{analysis.go,plugin.go} with their default arguments.
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <unordered_map>

#include "lab/policies/assumed.hpp"
#include "lab/policies/makers.hpp"

namespace wattle::placement {

namespace {

constexpr double kMaxScore = 100;

// Predicted usage of the pod: request x 1.5, or one core without a request (there are no limits here).
constexpr double kRequestsMultiplier = 1.5, kDefaultRequestCores = 1.0;
constexpr double kTarget_pct = 40;
constexpr double kReporting_s = 60;  // interval of metrics agents: younger pods are not in the metrics

double predicted_cores(const Resources& request) {
  return request.cpu_cores > 0 ? kRequestsMultiplier * request.cpu_cores : kDefaultRequestCores;
}

class TargetLoadPacking final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    const MonoTime now = context.view().now;
    for (const std::size_t row : context.feasible()) {
      const NodeView& node = context.node_view(row);
      if (!node.telemetry_age || !node.values.cpu_used_cores) continue;  // no metrics: the lowest score
      const double since_s = on_view_clock_s(now - *node.telemetry_age - from_seconds(kReporting_s));
      const double missing = assumed_.sum(node.name, since_s, on_view_clock_s(now)).cpu_cores;
      const double used = *node.values.cpu_used_cores + predicted_cores(context.request()) + missing;
      const double pct = 100 * used / node.allocatable.cpu_cores;
      if (pct > 100)
        values[row] = 0;
      else if (pct > kTarget_pct)
        values[row] = std::round(kTarget_pct * (100 - pct) / (100 - kTarget_pct));
      else
        values[row] = std::round((100 - kTarget_pct) * pct / kTarget_pct + kTarget_pct);
    }
  }
  void placed(const PodEvent& pod) override {
    assumed_.add(pod.name, pod.now_s, {predicted_cores(pod.ask.request), 0});
  }

 private:
  AssumedPods assumed_;
};

// Mean and deviation of a node's reports over the load watcher's window.
struct Reading {
  MonoTime at{};
  double cpu_ratio = 0, memory_ratio = 0;
};
constexpr double kWindow_s = 900;

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(const std::deque<Reading>& reported, double Reading::*what) {
  Spread spread;
  for (const Reading& each : reported) spread.mean += each.*what / static_cast<double>(reported.size());
  for (const Reading& each : reported) spread.deviation += (each.*what - spread.mean) * (each.*what - spread.mean);
  spread.deviation = std::sqrt(spread.deviation / static_cast<double>(reported.size()));
  return spread;
}

// Risk = (mean with the pod + deviation) / 2, of CPU and memory; the riskier resource decides. Margin and sensitivity
// are 1.
class Lvrb final : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override {
    listen(context.view());
    for (const std::size_t row : context.feasible()) {
      const NodeView& node = context.node_view(row);
      const auto found = reported_.find(node.name);
      if (found == reported_.end()) continue;
      const auto of = [&](double Reading::*what, double request, double capacity) {
        const Spread spread = spread_of(found->second, what);
        const double mean = std::clamp(spread.mean + request / capacity, 0.0, 1.0);
        return (1 - (mean + std::clamp(spread.deviation, 0.0, 1.0)) / 2) * kMaxScore;
      };
      values[row] = std::round(
          std::min(of(&Reading::cpu_ratio, context.request().cpu_cores, node.allocatable.cpu_cores),
                   of(&Reading::memory_ratio, context.request().memory_bytes, node.allocatable.memory_bytes)));
    }
  }

 private:
  void listen(const ClusterView& view) {
    for (const NodeView& node : view.nodes) {
      if (!node.telemetry_age || !node.values.cpu_used_cores) continue;
      const MonoTime at = view.now - *node.telemetry_age;
      std::deque<Reading>& reported = reported_[node.name];
      if (!reported.empty() && reported.back().at == at) continue;
      reported.push_back(
          {at, *node.values.cpu_used_cores / node.allocatable.cpu_cores,
           static_cast<double>(node.values.memory_used_bytes.value_or(0)) / node.allocatable.memory_bytes});
      while (view.now - reported.front().at > from_seconds(kWindow_s) && reported.size() > 1) reported.pop_front();
    }
    // Drops nodes that no longer exist.
    if (reported_.size() > 2 * view.nodes.size())
      std::erase_if(reported_,
                    [&](const auto& each) { return view.now - each.second.back().at > from_seconds(kWindow_s); });
  }

  std::unordered_map<std::string, std::deque<Reading>> reported_;
};

}  // namespace

MadePolicy make_target_load_packing(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<TargetLoadPacking>(info);
}
MadePolicy make_lvrb(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Lvrb>(info); }

}  // namespace wattle::placement
