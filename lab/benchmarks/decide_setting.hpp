// decide_setting: builds a partly used cluster of a given size, and the policy that decides on it, for benchmarks.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement::bench {

struct Setting {
  ClusterView view;
  std::vector<std::string> names;
  PodSpec pod = testing::small_pod();
  std::shared_ptr<const models::FrozenNetwork> network;
  std::unique_ptr<Policy> policy;
  RowIndex index;
  ClusterModel cluster_model;
  std::mt19937_64 random{1};
  DecideOptions options;

  Setting(std::size_t nodes, const char* name) {
    std::mt19937_64 draw(3);
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeView node = testing::healthy_node("node-" + std::to_string(i), 8 + 8 * static_cast<double>(i % 8));
      node.values.cpu_used_cores = unit(draw) * node.allocatable.cpu_cores;
      node.requested.cpu_cores = unit(draw) * 0.8 * node.allocatable.cpu_cores;
      node.pods = static_cast<std::uint64_t>(unit(draw) * 40);
      node.latency_ms["default"] = 10 * unit(draw);
      view.nodes.push_back(node);
      names.push_back(node.name);
    }
    models::Weights weights = models::initial_weights(1);
    for (auto& [tensor, values] : weights)
      for (float& value : values.values) value += 0.01F;
    network = *models::FrozenNetwork::from_weights(weights, 1, "bench");
    policy = std::move(*make_policy(name));
    view.edition_of.assign(view.nodes.size(), ++view.edition);
    cluster_model.refresh(view);
  }
  PolicyInputs mind(bool known = false) { return {*policy, network.get(), known ? &cluster_model : nullptr, &index}; }
};

}  // namespace wattle::placement::bench
