// kube_pods: what an API server binds to simulated nodes runs on them, and what it deletes stops.
// Source   common/kube: the pods of all nodes; those of nodes that this fleet does not play are left alone
// Model    a pod wants 0.2 to 1.0 of its request (0.1 cores without one), drawn from its owner and image; each pod a tenth more or less
// Errors   none: an API server that is away leaves what runs running, and is in health()
// Threads  apply() belongs to one thread; one more of its own
#pragma once

#include <string>
#include <vector>

#include "common/kube/copy.hpp"
#include "common/kube/mirror.hpp"
#include "sim/live/fleet.hpp"

namespace wattle::sim::live {

// Mean use of a pod that nobody knows but the simulation.
double simulated_demand_cores(const kube::Pod& pod);

class KubePods {
 public:
  KubePods(const kube::ApiServer& server, std::uint64_t seed, const Log& log);
  // What has changed since the last call; the placements that it led to.
  std::vector<wire::Placement> apply(Fleet& fleet, MonoTime now);
  kube::MirrorHealth health() const { return mirror_.health(); }

 private:
  const Log& log_;
  kube::Copy<kube::Pod> pods_;
  kube::Mirror mirror_;  // goes first: it fills the copy
};

}  // namespace wattle::sim::live
