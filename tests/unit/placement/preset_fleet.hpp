// preset_fleet: a small fleet in which every reward preset has one clearly best node, and a reference that finds it by
// the preset's own reward.
// Threads  pure functions
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "placement/decide/decide.hpp"
#include "placement/worth/outcome.hpp"
#include "placement/worth/prior.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement::testing {

inline constexpr std::array<Preset, 8> kPresets{Preset::ee,  Preset::lb,    Preset::lc,       Preset::el_rl,
                                                Preset::drs, Preset::power, Preset::weighted, Preset::expression};

// Four nodes that differ in pods, connections, latency, utilisation and watts; none is best in all.
inline ClusterView plain_fleet() {
  struct Kind {
    const char* name;
    std::uint64_t pods, tcp;
    double used_share, latency_ms, watts, psi;
  };
  ClusterView view;
  for (const Kind& kind : {Kind{"full", 40, 300, 0.60, 30, 1.0, 0.2}, Kind{"near", 20, 200, 0.30, 5, 1.2, 0.1},
                           Kind{"quiet", 10, 20, 0.40, 30, 1.6, 0.05}, Kind{"empty", 0, 100, 0.15, 30, 0.5, 0.0}}) {
    NodeView node = healthy_node(kind.name);
    node.pods = kind.pods;
    node.values.tcp_established = kind.tcp;
    node.values.cpu_used_cores = kind.used_share * node.allocatable.cpu_cores;
    node.values.pressure.cpu_some_ratio = kind.psi;
    node.latency_ms["default"] = kind.latency_ms;
    std::array<double, 11> watts{};
    for (std::size_t i = 0; i < watts.size(); ++i) watts[i] = kind.watts * (60 + 12 * static_cast<double>(i));
    node.curve = PowerCurve::known(watts);
    view.nodes.push_back(node);
  }
  return view;
}

inline PodSpec plain_pod() {
  PodSpec pod = small_pod();
  pod.request = {1, 1e9};
  pod.latency_soft_ms = 20;
  pod.latency_hard_ms = 50;
  return pod;
}

inline RewardConfig reward_of(Preset preset) {
  RewardConfig reward;
  reward.preset = preset;
  if (preset == Preset::expression) reward.formula = Formula::compile("3 * packing + latency").value();
  return reward;
}

// The measurement after the pod was placed on node i, as models predict it.
inline RawOutcome outcome_on(const RewardConfig& reward, const ClusterView& view, const PodSpec& pod, std::size_t i) {
  const auto used = [&](std::size_t k) {
    return *view.nodes[k].values.cpu_used_cores / view.nodes[k].allocatable.cpu_cores;
  };
  const NodeView& node = view.nodes[i];
  const double added = demand_cores(pod) / node.allocatable.cpu_cores;
  RawOutcome outcome = begin_outcome(view, pod, i, reward);
  outcome.marginal_w = amortised_w(node, pod, demand_cores(pod));
  outcome.mean_power_w = node.curve.watts(used(i) + added);
  outcome.cpu_some_ratio = node.values.pressure.cpu_some_ratio;
  std::vector<WorkerAfter> after(view.nodes.size());
  for (std::size_t k = 0; k < after.size(); ++k) after[k].cpu_pct = 100 * (used(k) + (k == i ? added : 0));
  outcome.deviations_pct = deviations_pct(after);
  return outcome;
}

// The node with the best reward of the preset.
inline std::string best_by_reward(const RewardConfig& reward, const ClusterView& view, const PodSpec& pod) {
  double best = -INFINITY;
  std::string name;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const double value = evaluate(reward, outcome_on(reward, view, pod, i)).value;
    if (value > best) name = view.nodes[i].name;
    best = std::max(best, value);
  }
  return name;
}

}  // namespace wattle::placement::testing
