#include "sim/world/workload.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace wattle::sim {

namespace {
constexpr double kMiB = 1024.0 * 1024;
}

double demand_cores(const SimPod& pod, std::uint64_t slot) {
  const double mean =
      pod.cores_by_slot.empty()
          ? pod.mean_demand_cores
          : pod.cores_times * static_cast<double>(pod.cores_by_slot[slot / pod.slots_each % pod.cores_by_slot.size()]);
  if (pod.variability <= 0) return mean;
  // Log-normal around 1 with the wanted relative deviation.
  const double sigma = std::sqrt(std::log1p(pod.variability * pod.variability));
  const double z = normal_of(mix(pod.seed, 2 * slot), mix(pod.seed, 2 * slot + 1));
  return mean * std::exp(sigma * z - 0.5 * sigma * sigma);
}

AppProfile thesis_profile() {
  AppProfile profile;
  profile.name = "web";
  profile.request = {0.25, 64 * kMiB};
  profile.demand_of_request = 0.8;
  profile.latency_soft_ms = 20;
  profile.latency_hard_ms = 30;
  return profile;
}

std::vector<AppProfile> mixed_profiles(const WorkloadOptions& options, std::uint64_t seed) {
  constexpr std::array<double, 4> kCpuRequests{0.25, 0.5, 1.0, 2.0};
  constexpr std::array<double, 3> kMiBPerCore{512, 1024, 2048};
  Random random(mix(seed, 0x61707073ULL));
  std::vector<AppProfile> profiles;
  for (std::size_t i = 0; i < options.apps; ++i) {
    AppProfile profile;
    profile.name = "app-" + std::to_string(i);
    const double cpu = kCpuRequests[pick(random, kCpuRequests.size())];
    profile.request = {cpu, cpu * kMiBPerCore[pick(random, kMiBPerCore.size())] * kMiB};
    profile.demand_of_request = std::clamp(0.5 * std::exp(0.6 * normal(random)), 0.08, 1.5) * options.demand_scale;
    profile.memory_of_request = uniform(random, 0.4, 0.95);
    profile.mean_life_s = uniform(random, 600, 3600) * options.life_scale;
    profile.variability = uniform(random, 0.1, 0.5);
    if (uniform(random) < options.latency_share) {
      profile.latency_soft_ms = 20;
      if (uniform(random) < 0.5) profile.latency_hard_ms = 60;
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

Workload::Workload(std::vector<AppProfile> profiles, const WorkloadOptions& options, std::uint64_t seed)
    : profiles_(std::move(profiles)), options_(options), random_(mix(seed, 0x706f6473ULL)), seed_(seed) {
  assert(!profiles_.empty());
}

SimPod Workload::next() {
  return next_of(options_.in_turn ? made_ % profiles_.size() : pick(random_, profiles_.size()));
}

SimPod Workload::next_of(std::size_t which) {
  const AppProfile& app = profiles_[which];
  SimPod pod;
  pod.seed = mix(seed_, made_);
  const std::string number = std::to_string(made_++);
  pod.spec.uid = "sim-pod-" + std::to_string(seed_) + "-" + number;
  pod.spec.name = app.name + "-" + number;
  pod.spec.pod_namespace = "default";
  pod.spec.app = app.name;  // without an owner, like bare pods, so that no replica share applies
  pod.spec.request = app.request;
  if (app.memory_spread > 0)
    pod.spec.request.memory_bytes *= std::clamp(1 + app.memory_spread * normal(random_), 0.1, 3.0);
  pod.spec.latency_soft_ms = app.latency_soft_ms;
  pod.spec.latency_hard_ms = app.latency_hard_ms;
  pod.mean_demand_cores = app.request.cpu_cores * app.demand_of_request * uniform(random_, 0.8, 1.2) + app.demand_cores;
  pod.memory_used_bytes = pod.spec.request.memory_bytes * app.memory_of_request;
  const double life_s = std::max(60.0, exponential(random_, app.mean_life_s));
  pod.life_s = options_.endless ? std::numeric_limits<double>::infinity() : life_s;
  pod.variability = app.variability;
  pod.io = app.io;
  pod.serves_users = app.serves_users;
  pod.request_share = app.request_share;
  pod.work_core_s = app.work_core_s;
  return pod;
}

}  // namespace wattle::sim
