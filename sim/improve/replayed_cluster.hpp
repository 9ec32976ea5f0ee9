// replayed_cluster: an episode of consolidation on the kernel (sim/cluster/kernel), and the information that choosers
// get about it. Unlike a World, it can be copied, which rollouts require.
// Truth    pods use the cores of their machine's day, watts follow the measured curve
// Reported fleet() and ask(). With true knowledge: the real curves and the pod's mean over the whole day. With
//          knowledge of pods only: the real curves and demand learned per application
// Units    in names; seconds from the start of the run
// Errors   none; placing a pod where it does not fit is a programming error, and so is production knowledge, which only
//          a World has
// Threads  single owner; the same episode and calls give the same bytes; a copy is independent
#pragma once

#include <cstdint>
#include <vector>

#include "placement/cluster/demand.hpp"
#include "placement/cluster/fleet.hpp"
#include "sim/cluster/kernel.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

class Cluster : private cluster::Observer {
 public:
  explicit Cluster(const Episode& episode);

  void advance_to(double when_s);
  const placement::Fleet& fleet() const { return fleet_; }
  placement::PodEstimate ask(std::size_t pod) const;
  void place(std::size_t pod, std::size_t node);
  // Starts the measurement.
  void start_measuring();

  double energy_j();  // since start_measuring, up to now
  double node_energy_j(std::size_t node);
  double awake_node_s();
  double pod_s() const { return kernel_.pod_s(); }  // of all pods that ran
  std::uint64_t wakes() const { return kernel_.wakes(); }
  // Returns each pod's node; kNowhere if it never ran or has ended.
  const std::vector<std::size_t>& node_of() const { return kernel_.nodes_of(); }
  static constexpr std::size_t kNowhere = cluster::kNowhere;

 private:
  struct Running {
    std::size_t pod = 0;
    double predicted_cores = 0, predicted_life_s = 0;  // at admission
    double seen_cores = 0;                             // sum over samples
    std::uint32_t samples = 0, reported = 0;
    double placed_s = 0;
  };
  using Node = std::vector<Running>;  // in the kernel's order
  bool predicts_pods() const { return episode_->options.cluster_model != ClusterModel::truth; }
  double cores_at(std::size_t pod, std::size_t sample) const;  // from its day
  double cores_now(std::size_t pod) const;
  void tick(std::size_t sample);
  void learn(std::size_t node, std::size_t sample);
  void report(std::size_t node);
  void report(const Running& running);
  void ended(cluster::PodId pod, std::size_t node, std::size_t position) override;
  double expected_cores(const Running& running) const;
  double empties_at_s(const Node& node) const;

  const Episode* episode_;
  cluster::Kernel<double> kernel_;
  std::vector<Node> nodes_;
  placement::Fleet fleet_;
  placement::DemandModel demand_;
  std::size_t samples_ = 0;  // number of samples begun
};

}  // namespace wattle::sim::consolidation
