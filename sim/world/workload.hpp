// workload: pods as users define them, and their behaviour.
// Source   application profiles and pods drawn from a seed; a pod's use is a pure function of the pod and the time
// Units    cores, bytes, seconds, milliseconds
// Errors   none
// Threads  Workload single owner; the rest pure
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "sim/cluster/pairs.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim {

// Bytes per second through the node's network and disks.
struct Io {
  double net_rx = 0, net_tx = 0, disk_read = 0, disk_write = 0;
  Io& operator+=(const Io& other) {
    net_rx += other.net_rx;
    net_tx += other.net_tx;
    disk_read += other.disk_read;
    disk_write += other.disk_write;
    return *this;
  }
};

// Common properties of one application's pods.
struct AppProfile {
  std::string name;
  placement::Resources request;
  double demand_of_request = 0.5;  // mean CPU use over request
  double demand_cores = 0;         // additional demand, for pods without a CPU request
  double memory_of_request = 0.7;
  double mean_life_s = 1800;
  double variability = 0.3;  // relative standard deviation of use between demand slots
  std::optional<double> latency_soft_ms, latency_hard_ms;
  double memory_spread = 0;  // relative standard deviation of the requests of its pods
  Io io;
  bool serves_users = false;
  double request_share = 0;  // share of all requests of an open loop, for all its replicas together
  double work_core_s = 0;    // of one request, on an undisturbed core
};

// A pod with its hidden properties: its real demand and its end.
struct SimPod {
  placement::PodSpec spec;
  double mean_demand_cores = 0;
  double memory_used_bytes = 0;
  double life_s = 0;  // infinity: until it is removed
  double variability = 0;
  std::uint64_t seed = 0;
  Io io;
  std::size_t app = cluster::kNoApp;          // identifies the application in pairs
  bool serves_users = false;                  // its demand follows from its users' requests
  double request_share = 0, work_core_s = 0;  // as in its application's profile
  // Wanted cores, repeated cyclically; empty: its mean. Both with that variability.
  std::span<const float> cores_by_slot;
  std::size_t slots_each = 1;  // demand slots that one value lasts
  double cores_times = 1;      // factor on cores_by_slot
};

// Use is constant within a slot of this length, counted from the start of the run, unless a world sets another length.
inline constexpr double kDemandSlot_s = 30;

// Returns the cores that the pod wants in that slot; their mean over slots is mean_demand_cores.
double demand_cores(const SimPod& pod, std::uint64_t slot);

struct WorkloadOptions {
  std::size_t apps = 8;
  double demand_scale = 1.0;  // multiplies demand, not requests
  double life_scale = 1.0;
  bool endless = false;        // pods live until removed
  bool in_turn = false;        // applications follow each other; default: at random
  double latency_share = 0.5;  // share of the applications with latency limits
};

// A repeated pod, as in the latency scheduler's tests: 250m, 64 MiB, soft 20 ms, hard 30 ms.
AppProfile thesis_profile();
// A mix of request sizes that correlate little with the use.
std::vector<AppProfile> mixed_profiles(const WorkloadOptions& options, std::uint64_t seed);

class Workload {
 public:
  Workload(std::vector<AppProfile> profiles, const WorkloadOptions& options, std::uint64_t seed);
  SimPod next();
  SimPod next_of(std::size_t app);  // index into profiles()
  const std::vector<AppProfile>& profiles() const { return profiles_; }

 private:
  std::vector<AppProfile> profiles_;
  WorkloadOptions options_;
  Random random_;
  std::uint64_t seed_;
  std::uint64_t made_ = 0;
};

}  // namespace wattle::sim
