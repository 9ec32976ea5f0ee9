// views: small clusters for tests.
// Threads  pure functions
#pragma once

#include <random>
#include <string>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/features.hpp"

namespace wattle::placement::testing {

inline NodeView healthy_node(const std::string& name, double cores = 16) {
  NodeView node;
  node.name = name;
  node.telemetry_age = from_seconds(1);
  node.allocatable = {cores, cores * 4e9};
  node.values.cpu_cores = cores;
  node.values.cpu_used_cores = 0.1 * cores;
  node.values.memory_used_bytes = 1'000'000'000;
  node.values.memory_total_bytes = static_cast<std::uint64_t>(cores * 4e9);
  node.curve = PowerCurve::prior(cores);
  return node;
}

inline PodSpec small_pod() {
  PodSpec pod;
  pod.uid = "uid-1";
  pod.name = "web-1";
  pod.request = {0.25, 64e6};
  return pod;
}

inline std::vector<std::string> names_of(const ClusterView& view) {
  std::vector<std::string> names;
  for (const NodeView& node : view.nodes) names.push_back(node.name);
  return names;
}

// Distinct, partly broken nodes; every value may be missing.
inline ClusterView random_view(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const auto real = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  const auto chance = [&](double p) { return real(0, 1) < p; };
  ClusterView view;
  for (std::size_t i = 0; i < count; ++i) {
    NodeView node = healthy_node("n" + std::to_string(i), std::floor(real(2, 96)));
    node.ready = !chance(0.1);
    if (chance(0.1)) node.telemetry_age.reset();
    if (chance(0.1)) node.telemetry_age = from_seconds(real(0, 30));
    if (chance(0.1)) node.values = NodeValues{};
    if (chance(0.05)) node.allocatable = {};
    if (chance(0.7)) node.latency_ms["default"] = real(0, 60);
    node.requested = {real(0, 1) * node.allocatable.cpu_cores, real(0, 1) * node.allocatable.memory_bytes};
    node.pods = static_cast<std::uint64_t>(real(0, 115));
    node.in_flight = static_cast<std::uint64_t>(real(0, 9));
    node.in_flight_request = {0.1 * static_cast<double>(node.in_flight), 1e6};
    node.asleep = chance(0.2);
    node.wake_cost_j = real(0, 5000);
    node.curve.observe(real(0, 1), real(20, 800));
    view.nodes.push_back(node);
  }
  return view;
}

// Equivariant by construction: a fixed mixture of a node's own features.
class MixtureNetwork final : public models::QNetwork {
 public:
  void residual(const models::Observation& observation, std::span<float> out) const override {
    for (std::size_t row = 0; row < observation.nodes; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < models::kNodeFeatures; ++i) {
        sum += observation.node[row * models::kNodeFeatures + i] * static_cast<float>((i * 7 + 3) % 11) * 0.05F;
      }
      out[row] = observation.valid[row] != 0 ? sum : 0.0F;
    }
  }
  std::uint64_t step() const override { return 1; }
};

}  // namespace wattle::placement::testing
