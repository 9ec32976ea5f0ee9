// cluster: the true world of an X8 episode, and what is told of it.
// Truth    pods use the cores of their machine's day, watts follow the measured curve; both are constant between events,
//          so that energy_j() is the exact integral. A node that wakes draws its wake energy over its wake time, and its
//          pods run afterwards; an empty node sleeps after sleep_after_s;
//          what a Shift changes is true here and told to nobody
// Told     fleet() and ask(): with true knowledge the real curves and the pod's mean over the whole day; in production
//          curves fitted from noisy watts, one reading of each awake node in 5 minutes, and demand learned per application; with
//          knowledge of pods alone the real curves and demand learned per application
// Units    in names; seconds from the start of the run
// Errors   none; placing where it does not fit is our bug
// Threads  single owner; the same episode and calls give the same bytes
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "placement/demand.hpp"
#include "placement/fleet.hpp"
#include "sim/random.hpp"
#include "sim/x8/episode.hpp"

namespace wattle::sim::x8 {

inline constexpr double kSleepAfter_s = 60;

class Cluster {
 public:
  explicit Cluster(const Episode& episode);

  void advance_to(double when_s);
  const placement::Fleet& fleet() const { return fleet_; }
  placement::Ask ask(std::size_t pod) const;
  void place(std::size_t pod, std::size_t node);
  void refuse() { ++refused_; }
  // Pods that have ended since the last call, in order.
  struct Ended {
    std::size_t pod = 0;
    double at_s = 0;
  };
  std::vector<Ended> take_ended() { return std::exchange(ended_, {}); }
  // Measures from here on.
  void start_measuring();

  double energy_j();  // since start_measuring, up to now
  double awake_node_s();
  std::uint64_t wakes() const { return wakes_; }
  std::uint64_t refused() const { return refused_; }
  double wake_wait_s() const { return wake_wait_s_; }  // pod-seconds spent waiting for nodes to wake
  double pod_s() const { return pod_s_; }              // of all that ran
  const std::vector<std::size_t>& node_of() const {
    return node_of_;
  }  // pod -> node; kNowhere when it never ran or ended
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

 private:
  struct Running {
    std::size_t pod = 0;
    double predicted_cores = 0, predicted_life_s = 0;  // at admission
    double seen_cores = 0;                             // sum over samples
    std::uint32_t samples = 0, reported = 0;
    double placed_s = 0;
  };
  struct Node {
    std::vector<Running> pods;
    double used_cores = 0;  // this sample's
    double power_w = 0;     // awake
    double since_s = 0;     // energy is integrated up to here
    double energy_j = 0, awake_s = 0;
    double empty_since_s = 0;  // of a node without pods
    double woken_s = 0;        // awake from here on
    double watts_times = 1;    // true over told
    placement::PowerCurve curve;
  };
  struct End {
    double at_s = 0;
    std::size_t pod = 0;
    bool operator>(const End& other) const { return at_s != other.at_s ? at_s > other.at_s : pod > other.pod; }
  };
  bool fits_curves() const { return episode_.options.knowledge == Knowledge::production; }
  bool predicts_pods() const { return episode_.options.knowledge != Knowledge::truth; }
  void integrate(std::size_t node, double to_s);
  void refresh(std::size_t node);
  void tick(std::size_t sample);
  void tell(std::size_t node);
  void report(const Running& running);
  void end_pod(std::size_t pod);
  double expected_cores(const Running& running) const;
  double empties_at_s(const Node& node) const;

  const Episode& episode_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> node_of_;
  placement::Fleet fleet_;
  placement::DemandModel demand_;
  Random noise_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Ended> ended_;
  double now_s_ = 0;
  std::size_t samples_ = 0;  // begun
  std::uint64_t wakes_ = 0, refused_ = 0;
  double wake_wait_s_ = 0, pod_s_ = 0;
};

}  // namespace wattle::sim::x8
