// Trimaran of kubernetes-sigs/scheduler-plugins: pkg/trimaran/targetloadpacking/targetloadpacking.go and
// pkg/trimaran/loadvariationriskbalancing/{analysis.go,plugin.go} with their default arguments.
#include <algorithm>
#include <cmath>
#include <deque>

#include "sim/baselines/assumed.hpp"
#include "sim/baselines/registry.hpp"

namespace wattle::sim {

namespace {

constexpr double kMaxScore = 100;

// Predicted use of the pod: request x 1.5, and a core where it requests none (no limits here).
constexpr double kRequestsMultiplier = 1.5, kDefaultRequestCores = 1.0;
constexpr double kTarget_pct = 40;
constexpr double kReporting_s = 60;  // of metrics agents: pods this young are not in the metrics

double predicted_cores(const placement::PodSpec& pod) {
  return pod.request.cpu_cores > 0 ? kRequestsMultiplier * pod.request.cpu_cores : kDefaultRequestCores;
}

class TargetLoadPacking final : public Baseline {
 public:
  std::string_view name() const override { return "target_load_packing"; }

  std::vector<double> score(const Sight& sight) override {
    std::vector<double> scores(sight.view.nodes.size(), 0);
    for (const std::size_t i : sight.feasible) {
      const placement::NodeView& node = sight.view.nodes[i];
      if (!node.telemetry_age || !node.values.cpu_used_cores) continue;  // no metrics: the lowest score
      const MonoTime window_end = sight.view.now - *node.telemetry_age;
      const double missing = assumed_.sum(i, window_end - from_seconds(kReporting_s), sight.view.now).cpu_cores;
      const double used = *node.values.cpu_used_cores + predicted_cores(sight.pod) + missing;
      const double pct = 100 * used / node.allocatable.cpu_cores;
      if (pct > 100)
        scores[i] = 0;
      else if (pct > kTarget_pct)
        scores[i] = std::round(kTarget_pct * (100 - pct) / (100 - kTarget_pct));
      else
        scores[i] = std::round((100 - kTarget_pct) * pct / kTarget_pct + kTarget_pct);
    }
    return scores;
  }
  void placed(const Sight& sight, std::size_t node) override {
    assumed_.add(node, sight.view.now, {predicted_cores(sight.pod), 0});
  }

 private:
  AssumedPods assumed_;
};

// Mean and deviation of what a node told over the load watcher's window.
struct Told {
  MonoTime at{};
  double cpu_ratio = 0, memory_ratio = 0;
};
constexpr double kWindow_s = 900;

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(const std::deque<Told>& told, double Told::*what) {
  Spread spread;
  for (const Told& each : told) spread.mean += each.*what / static_cast<double>(told.size());
  for (const Told& each : told) spread.deviation += (each.*what - spread.mean) * (each.*what - spread.mean);
  spread.deviation = std::sqrt(spread.deviation / static_cast<double>(told.size()));
  return spread;
}

// Risk = (mean with the pod + deviation) / 2, of CPU and memory; the riskier resource decides. Margin and sensitivity are 1.
class Lvrb final : public Baseline {
 public:
  std::string_view name() const override { return "lvrb"; }

  std::vector<double> score(const Sight& sight) override {
    listen(sight.view);
    std::vector<double> scores(sight.view.nodes.size(), 0);
    for (const std::size_t i : sight.feasible) {
      if (told_[i].empty()) continue;
      const placement::Resources& room = sight.view.nodes[i].allocatable;
      const auto of = [&](double Told::*what, double request, double capacity) {
        const Spread spread = spread_of(told_[i], what);
        const double mean = std::clamp(spread.mean + request / capacity, 0.0, 1.0);
        return (1 - (mean + std::clamp(spread.deviation, 0.0, 1.0)) / 2) * kMaxScore;
      };
      scores[i] = std::round(std::min(of(&Told::cpu_ratio, sight.pod.request.cpu_cores, room.cpu_cores),
                                      of(&Told::memory_ratio, sight.pod.request.memory_bytes, room.memory_bytes)));
    }
    return scores;
  }

 private:
  void listen(const placement::ClusterView& view) {
    told_.resize(view.nodes.size());
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      const placement::NodeView& node = view.nodes[i];
      if (!node.telemetry_age || !node.values.cpu_used_cores) continue;
      const MonoTime at = view.now - *node.telemetry_age;
      if (!told_[i].empty() && told_[i].back().at == at) continue;
      told_[i].push_back(
          {at, *node.values.cpu_used_cores / node.allocatable.cpu_cores,
           static_cast<double>(node.values.memory_used_bytes.value_or(0)) / node.allocatable.memory_bytes});
      while (view.now - told_[i].front().at > from_seconds(kWindow_s) && told_[i].size() > 1) told_[i].pop_front();
    }
  }

  std::vector<std::deque<Told>> told_;
};

}  // namespace

std::unique_ptr<Baseline> make_target_load_packing() { return std::make_unique<TargetLoadPacking>(); }
std::unique_ptr<Baseline> make_lvrb() { return std::make_unique<Lvrb>(); }

}  // namespace wattle::sim
