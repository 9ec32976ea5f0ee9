// sleep_cluster: a kernel's cluster on which nodes sleep: each node's power follows placement/sleep/power_machine, with
// working drivers.
// Binding  first fit in the order of watts per place, or kube-scheduler's default score with ties at random
// Kernel   a node that is off or changes its state has a flat power curve; the kernel's own sleep is not used
// Waits    a pod that finds no room while a node that is not awake has room waits for a wake
// Knowledge true curves, and transitions as measured before
// Units    in names; seconds from midnight of the first day
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lab/bench/sleep_episode.hpp"
#include "placement/sleep/power_machine.hpp"
#include "placement/sleep/sleep_plan.hpp"
#include "sim/cluster/kernel.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

struct SleepFigures {
  double energy_j = 0, awake_nodes = 0, node_days = 0;
  double pods = 0;
  std::vector<double> waits_s;          // of pods that waited for a wake
  double sleeps = 0, losing = 0;        // losing: cost more than staying idle
  double bursts = 0, bursts_awake = 0;  // awake: at most one pod in twenty waited for a wake
  double moves = 0, drains = 0, misplaced = 0;
  double waiting_ratio = 0;  // share of the pods' time that they wait for CPU
};

enum class BindBy : std::uint8_t { node_order, kube_default };

class SleepCluster : private cluster::Observer {
 public:
  // `sleeps_through`: every idle gap in which a sleep saves energy is slept through, with hindsight, and no node sleeps
  // by order.
  SleepCluster(const SleepEpisode& episode, placement::sleep::Depth depth, bool sleeps_through, BindBy bind_by);
  SleepCluster(const SleepCluster&) = delete;
  SleepCluster& operator=(const SleepCluster&) = delete;

  struct Node {
    placement::sleep::TransitionCost cost;
    double until_s = std::numeric_limits<double>::infinity();  // end of the transition under way
    bool on = true;
    double empty_from_s = 0;
    double ordered_s = 0;            // of the last sleep
    placement::Resources requested;  // by its pods
    placement::Resources reserved;   // for pods of a drain
    std::size_t reserved_pods = 0;
  };
  struct Running {
    cluster::PodId id = 0;
    std::size_t node = cluster::kNowhere;
    double ends_s = 0;
  };

  // Time of the next event before `most_s`, and everything that happens until then.
  double next_s(double most_s) const;
  void advance_to(double when_s);

  void report(std::size_t row, const placement::sleep::PowerEvent& event);
  void move(std::size_t pod, std::size_t target);  // to the target if it has room, otherwise by first fit
  // Moves each pod to the first node of the order that has room, if it is before the pod's own. Charges nothing.
  void repack();
  void bind_waiting();

  double now_s() const { return now_s_; }
  WallTime wall() const;
  bool measured() const { return now_s_ >= episode_.measure_from_s; }
  std::size_t size() const { return nodes_.size(); }
  bool awake(std::size_t row) const { return placement::sleep::takes_pods(rows_[row].record); }
  bool empty(std::size_t row) const { return kernel_.node(row).pods.empty(); }
  const std::vector<std::size_t>& order() const { return order_; }  // first to fill first
  const Node& node(std::size_t row) const { return nodes_[row]; }
  Node& node(std::size_t row) { return nodes_[row]; }
  std::size_t row_of(const std::string& name) const;
  const placement::sleep::SleepNode& row(std::size_t row) const { return rows_[row]; }
  double cores(std::size_t row) const { return fleet_.nodes[row].allocatable.cpu_cores; }
  const Running& running(std::size_t pod) const { return running_[pod]; }
  std::size_t pods() const;
  double requested_cores() const { return requested_cores_; }
  const std::vector<std::size_t>& waiting() const { return waiting_; }
  // The view of a controller; valid until the next call.
  placement::sleep::SleepInputs inputs();
  SleepFigures finish();
  SleepFigures& figures() { return figures_; }

 private:
  const Pod& pod(cluster::PodId id) const { return episode_.cluster.pods[index(id)]; }
  // A pod that moved starts again under a new number.
  std::size_t index(cluster::PodId id) const { return id % episode_.cluster.pods.size(); }
  double demand(cluster::PodId id) const;
  void make_nodes(placement::sleep::Depth depth);
  void ended(cluster::PodId pod, std::size_t node, std::size_t position) override;
  void act(std::size_t row, placement::sleep::PowerAction action);
  void flat(std::size_t row, double watts);
  void finish_transitions();
  void finish_empty();
  void count_sleep(std::size_t row);
  void end_gap(std::size_t row);
  bool has_room(std::size_t row, const placement::Resources& request) const;
  std::optional<std::size_t> room(const Pod& pod, bool awake);
  std::optional<std::size_t> best_scored(const placement::Resources& request, bool awake);
  void bind(cluster::PodId id, std::size_t row, double left_s);
  void arrive(std::size_t pod);

  const SleepEpisode& episode_;
  bool sleeps_through_;
  BindBy bind_by_;
  Random ties_;
  cluster::Kernel<double> kernel_;
  std::vector<Node> nodes_;
  std::vector<placement::sleep::SleepNode> rows_;
  placement::Fleet fleet_;
  placement::sleep::PowerLimits limits_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> waiting_;
  std::vector<placement::sleep::PendingPod> pending_;
  std::vector<double> waited_s_;  // by pod; -1: not for a wake
  std::vector<Running> running_;  // by pod
  double requested_cores_ = 0;    // by pods that run or wait
  double now_s_ = 0, next_slot_s_ = 0;
  std::size_t arrived_ = 0;
  bool moving_ = false, counts_ = false;
  SleepFigures figures_;
};

}  // namespace wattle::sim::consolidation
