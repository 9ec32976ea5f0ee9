// replayed_cluster: an episode of consolidation on the kernel (sim/cluster/kernel), and the information that choosers
// get about it. It can be copied, as rollouts need; a World cannot.
// Truth    pods use the cores of their machine's day, watts follow the measured curve. A Shift changes the truth
//          without any report
// Reported fleet() and ask(). With true knowledge: the real curves and the pod's mean over the whole day. Imitated:
// curves fitted to noisy watts, one reading of each awake node in 5 minutes, and demand learned per application. With
// knowledge of pods alone: the real curves and demand learned per application
// Waiting  with Options::learns_waiting, imitated knowledge learns each node's waiting like the controller
//          (placement/cluster/waiting), and waiting has a price by its budget (placement/worth/objective). Bursts last
//          five minutes, not half a minute
// Accuracy reported like the controller's own: deviation of readings from the curve and from the waiting model, and of
//          pods from their prediction
// Units    in names; seconds from the start of the run
// Errors   none; placing a pod where it does not fit is a programming error, and so is production knowledge, which only
//          a World has
// Threads  single owner; the same episode and calls give the same bytes; a copy is independent
#pragma once

#include <cstdint>
#include <vector>

#include "placement/cluster/budget.hpp"
#include "placement/cluster/demand.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/cluster/waiting.hpp"
#include "placement/worth/objective.hpp"
#include "sim/cluster/kernel.hpp"
#include "sim/scenarios/consolidation.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

class Cluster : private cluster::Observer {
 public:
  explicit Cluster(const Episode& episode);

  // Returns the same cluster with another future of its episode from now on (sim/improve/futures). Its reports are as
  // complete as here.
  Cluster in(const Episode& future) const;

  void advance_to(double when_s);
  const placement::Fleet& fleet() const { return fleet_; }
  placement::PodEstimate ask(std::size_t pod) const;
  void place(std::size_t pod, std::size_t node);
  // Starts the measurement.
  void start_measuring();

  double energy_j();  // since start_measuring, up to now
  double node_energy_j(std::size_t node);
  double awake_node_s();
  std::uint64_t wakes() const { return kernel_.wakes(); }
  double wake_wait_s() const { return wake_wait_s_; }  // pod-seconds spent waiting for nodes to wake
  double waited_core_s();  // cores' worth of pods that waited for CPU, over time, since start_measuring
  double pod_s() const { return kernel_.pod_s(); }  // of all pods that ran
  // Returns each pod's node; kNowhere if it never ran or has ended.
  const std::vector<std::size_t>& node_of() const { return kernel_.nodes_of(); }
  static constexpr std::size_t kNowhere = cluster::kNowhere;

 private:
  struct Running {
    std::size_t pod = 0;
    double predicted_cores = 0, predicted_life_s = 0;  // at admission
    double seen_cores = 0, seen_cores2 = 0;            // sums over samples
    std::uint32_t samples = 0, reported = 0;
    double placed_s = 0;
    double burst_cores2 = 0, error_cores = 0, unsure_cores = 0;  // predicted, as in PodEstimate
  };
  struct Node {
    std::vector<Running> pods;  // in the kernel's order
    placement::PowerCurve curve;
    placement::WaitingModel waiting;
  };
  bool fits_curves() const { return episode_->options.cluster_model == ClusterModel::imitated; }
  bool predicts_pods() const { return episode_->options.cluster_model != ClusterModel::truth; }
  bool waits() const;                                          // whether waiting is modelled and learned
  double cores_at(std::size_t pod, std::size_t sample) const;  // from its day, with bursts
  double cores_now(std::size_t pod) const;
  void tick(std::size_t sample);
  void learn(std::size_t node, std::size_t sample);
  void report(std::size_t node);
  void learn_waiting(std::size_t node);
  void price_waiting();
  void report_spread(placement::FleetNode& reported, const Running& running) const;
  void report(const Running& running);
  void ran(std::size_t node, double dt_s) override;
  void ended(cluster::PodId pod, std::size_t node, std::size_t position) override;
  double expected_cores(const Running& running) const;
  double empties_at_s(const Node& node) const;

  const Episode* episode_;
  cluster::Kernel<double> kernel_;
  std::vector<Node> nodes_;
  placement::Fleet fleet_;
  placement::DemandModel demand_;
  placement::WaitingModel fleet_waiting_;
  placement::Budget cpu_wait_;
  Random noise_;
  std::size_t samples_ = 0;  // number of samples begun
  double wake_wait_s_ = 0, waited_core_s_ = 0;
};

}  // namespace wattle::sim::consolidation
