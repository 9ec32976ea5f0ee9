// kube_pods: runs the pods that an API server binds to simulated nodes, and stops those that it deletes.
// Source   common/kube: the pods of all nodes; ignores those of nodes outside this fleet
// Model    a pod wants 0.2 to 1.0 of its request (0.1 cores without one), drawn from its owner and image; pods vary by
//          a tenth
// Errors   none: while the API server is unreachable, pods are unchanged, and health() reports it
// Threads  apply() belongs to one thread; starts another one
#pragma once

#include <vector>

#include "common/kube/copy.hpp"
#include "common/kube/mirror.hpp"
#include "sim/live/fleet.hpp"

namespace wattle::sim::live {

// Mean usage of a pod, known to the simulation only.
double simulated_demand_cores(const kube::Pod& pod);

class KubePods {
 public:
  KubePods(const kube::ApiServer& server, std::uint64_t seed, const Log& log);
  // Applies the changes since the last call and returns the resulting placements.
  std::vector<wire::Placement> apply(Fleet& fleet, MonoTime now);
  kube::MirrorHealth health() const { return mirror_.health(); }

 private:
  const Log& log_;
  kube::Copy<kube::Pod> pods_;
  kube::Mirror mirror_;  // destroyed first, because it fills the copy
};

}  // namespace wattle::sim::live
