// fleet: simulated nodes that run pods, and the measurements of an agent on each of them.
// Model    a pod wants a constant share of cores; a crowded node's cores are shared in proportion; watts follow the
//          node's true eleven-point curve with reading noise; latency is a node's base with jitter, and may shift. A
//          node that is turned off takes no samples, and its pods stop until it runs again
// Source   sim/world/power's server models and a seed; reads no state of the machine
// Units    in names; energy split in integer microjoules, shares + idle + unattributed = measured, exactly
// Errors   not_found (node, pod), conflict (a pod is already on another node), exhausted (node full)
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "common/sample.hpp"
#include "common/wire/messages.hpp"
#include "sim/live/server_switch.hpp"
#include "sim/world/power.hpp"

namespace wattle::sim::live {

// Changes the latency of the node's users at `at_s` after the start.
struct LatencyShift {
  double at_s = 0;
  std::string node;
  double latency_ms = 0;
};

struct FleetOptions {
  std::uint64_t seed = 1;
  std::size_t probe_window = 20;    // number of round trips behind a probe's quantiles
  double power_noise_ratio = 0.01;  // standard deviation of a power reading
  double latency_low_ms = 4, latency_high_ms = 38;
  std::vector<LatencyShift> shifts;
  double sleep_speedup = 0;   // of shutdowns and boots (ServerSwitch); 0: nodes cannot be turned off
  double rotate_every_s = 0;  // interval at which all latencies move to the next node; 0: never
  std::size_t pods_per_node = 110;
  std::size_t services_per_node = 0;  // workloads that share the node's own load and are reported individually
};

struct FleetPod {
  std::string uid;
  std::string name;  // for people
  std::string node;
  double cpu_request_cores = 0;
  double memory_request_bytes = 0;
  double demand_cores = 0;
  std::optional<double> lifetime_s;  // ends by itself; unset: lives until removed
};

class Fleet {
 public:
  Fleet(std::vector<ServerModel> servers, const FleetOptions& options, MonoTime now);

  std::size_t size() const { return nodes_.size(); }
  std::size_t pods() const { return where_.size(); }
  const ServerModel& server(std::size_t node) const { return nodes_[node].server; }
  double background_cores(std::size_t node) const { return nodes_[node].background_cores; }
  std::size_t pods_on(std::size_t node) const { return nodes_[node].pods.size(); }
  // Current mean latency of the node's users.
  double latency_ms(std::size_t node, MonoTime now) const;
  double power_w(std::size_t node) const;  // true, without noise
  bool can_sleep() const { return options_.sleep_speedup > 0; }
  const ServerSwitch& power_switch(std::size_t node) const { return nodes_[node].power; }
  bool runs(std::size_t node) const { return nodes_[node].power.state() == ServerSwitch::State::on; }
  // Requires can_sleep().
  void turn(std::size_t node, bool on, MonoTime now);
  // Finishes the transitions whose time has passed.
  void follow(MonoTime now);
  double energy_j(std::size_t node, MonoTime now) const;  // from its true watts, since the start
  // Over its pods, from the start to its last sample: running time, and the part that they waited for CPU.
  double pod_s(std::size_t node) const { return nodes_[node].pod_s; }
  double waited_pod_s(std::size_t node) const { return nodes_[node].waited_pod_s; }
  std::vector<FleetPod> list() const;

  // Creates the pod's cgroup. Binding the same pod to the same node again only repeats the report.
  Result<wire::Placement> bind(const FleetPod& pod, MonoTime now);
  Result<wire::Placement> unbind(const std::string& uid, MonoTime now);
  // Repeats the reports of the pods that are bound to the node.
  std::vector<wire::Placement> bound_to(std::size_t node) const;
  // Ends pods whose lifetime is over.
  std::vector<wire::Placement> expire(MonoTime now);
  // Samples the interval since the node's last sample. Without incarnation and wall_ns.
  Record sample(std::size_t node, MonoTime now);
  std::optional<std::size_t> index_of(const std::string& node) const;

 private:
  struct Running {
    FleetPod pod;
    std::uint64_t cgroup_id = 0;
    MonoTime born{};
    double usage_s = 0;  // CPU seconds since the last sample
  };
  struct Node {
    ServerModel server;
    ServerSwitch power;
    double background_cores = 0;
    double base_latency_ms = 0;
    std::vector<Running> pods;
    std::vector<Running> ended;                            // since the last sample
    double background_s = 0, energy_j = 0, stalled_s = 0;  // since the last sample
    double total_j = 0, pod_s = 0, waited_pod_s = 0;
    MonoTime advanced{}, sampled{};
    std::uint64_t seq = 0;
    std::deque<double> round_trips_ms;
  };
  static double wanted_cores(const Node& node);
  void advance(Node& node, MonoTime now);
  static void run_until(Node& node, MonoTime now);
  static void boot(Node& node, MonoTime now);
  void split_energy(Node& node, double interval_s, Record& record) const;
  ProbeValues probe(std::size_t node, MonoTime now);

  FleetOptions options_;
  MonoTime start_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, std::size_t> where_;  // pod UID -> node
};

}  // namespace wattle::sim::live
