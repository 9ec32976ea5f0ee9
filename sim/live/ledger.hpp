// ledger: the joules and latency of one way to place the same pods, on known curves and latencies.
// Model    the kernel's (sim/cluster/kernel): background and pods' demand on the node's curve. A node that does not run
//          draws its watts asleep instead, and each shutdown and boot adds its published joules (ServerSwitch)
// Units    in names
// Errors   none; ignores the removal of an unknown pod
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/kernel.hpp"
#include "sim/world/kube_scoring.hpp"
#include "sim/world/power.hpp"

namespace wattle::sim::live {

struct DrivePower {
  std::optional<double> resting_w;  // drawn while it does not run, minus the joules of transitions; unset: it runs
  std::uint64_t shutdowns = 0, boots = 0;
};

// A node as the driver knows it: the truth, for accounting only, and the content of a scheduler's cache.
struct DriveNode {
  ServerModel server;
  double background_cores = 0;
  std::optional<double> latency_ms;  // current; unset if unknown
  std::size_t pod_limit = 110;
  bool real = false;  // this machine
  DrivePower power;
};

struct LedgerPod {
  std::string uid;
  KubePod request;
  double demand_cores = 0;
  std::optional<double> latency_soft_ms, latency_hard_ms;
};

struct Costs {
  double energy_j = 0;
  double idle_energy_j = 0;  // of the same nodes without any pod
  std::size_t placements = 0;
  std::size_t above_soft = 0, above_hard = 0;         // placements on a node above the limit at that moment
  double soft_pod_seconds = 0, hard_pod_seconds = 0;  // time that pods then spent above their limit
  double seconds = 0;
  double transitions_j = 0;  // part of energy_j
  std::uint64_t shutdowns = 0, boots = 0;
};

class Ledger {
 public:
  explicit Ledger(const std::vector<DriveNode>& nodes);
  // The nodes as in a scheduler's cache, with the pods placed here.
  const std::vector<KubeNode>& kube_nodes() const { return kube_; }
  void place(std::size_t node, const LedgerPod& pod);
  void remove(const std::string& uid);
  // Sets the current latencies.
  void set_latencies(const std::vector<DriveNode>& nodes);
  // Charges the shutdowns and boots since the last call, and updates which nodes run.
  void set_power(const std::vector<DriveNode>& nodes);
  void advance(double dt_s);
  std::size_t pods_on(std::size_t node) const { return static_cast<std::size_t>(kube_[node].pods); }
  const Costs& costs() const { return costs_; }

 private:
  struct Placed {
    cluster::PodId id = 0;
    LedgerPod pod;
  };
  std::vector<DriveNode> nodes_;
  std::vector<KubeNode> kube_;
  cluster::Kernel<double> kernel_;
  cluster::Observer none_;
  cluster::PodId pods_made_ = 0;
  std::map<std::string, Placed> pods_;
  double resting_j_ = 0;  // of nodes that do not run, less their curves
  Costs costs_;
};

}  // namespace wattle::sim::live
