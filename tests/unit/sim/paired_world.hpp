// paired_world: two machines, applications of which the first two disturb each other, and the agents' reports of their
// pods.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>

#include "sim/cluster/pairs.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

inline std::shared_ptr<const cluster::Pairs> one_pair(double strength) {
  cluster::Pairs pairs(3);
  pairs.disturb(0, 1, strength);
  return std::make_shared<const cluster::Pairs>(pairs);
}

// The last report of each pod.
struct ReportedPods final : WorldObserver {
  std::map<cluster::PodId, PodUse> uses;
  void placed(cluster::PodId, const placement::PodSpec&, const std::string&, std::size_t, MonoTime) override {}
  void ended(const placement::PodSpec&, std::size_t, MonoTime) override {}
  void used(std::span<const PodUse> pods, double) override {
    for (const PodUse& use : pods) uses[use.pod] = use;
  }
  void reported(const World&) override {}
};

inline WorldOptions two_machines() {
  WorldOptions options;
  for (const char* name : {"a", "b"}) {
    NodeSpec node;
    node.server.name = name;
    node.server.cores = 16;
    node.server.memory_bytes = 1e12;
    for (std::size_t i = 0; i < kWattPoints; ++i) node.server.watts[i] = 100 + 16 * static_cast<double>(i);
    options.nodes.push_back(node);
  }
  options.power_noise_ratio = options.latency_noise_ratio = 0;
  return options;
}

inline SimPod pod_of_app(std::size_t app, double cores) {
  SimPod made;
  made.spec.uid = "pod-" + std::to_string(app);
  made.spec.app = made.spec.uid;
  made.spec.request = {cores, 1e9};
  made.mean_demand_cores = cores;
  made.life_s = std::numeric_limits<double>::infinity();
  made.app = app;
  return made;
}

}  // namespace wattle::sim
