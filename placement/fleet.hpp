// fleet: what is known of all nodes at once, for who plans on them; the controller and the simulator fill it, each from what it knows.
// Truth    none is reachable from here: the simulator writes fitted or true curves into it, and predicted or true demand
//          of the pod that waits; never demand of pods that are still to come
// Units    in names; watts at 0,10,...,100% utilisation
// Errors   none
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/cluster_view.hpp"
#include "placement/pair_excess.hpp"
#include "placement/policies/kube_scoring.hpp"
#include "placement/power_curve.hpp"
#include "placement/waiting.hpp"

namespace wattle::placement {

// Pods of one application on one node, as sums.
struct AppThere {
  AppId app = 0;
  std::uint64_t pods = 0;
  double request_cores = 0, demand_cores = 0;
};
// Of one node, each application once.
class AppsThere {
 public:
  // So many pods more or fewer (sign 1, -1), of these requests and demand each. One that nobody told of, or is not there, changes nothing.
  void add(AppId app, double request_cores, double demand_cores, int sign);
  std::span<const AppThere> all() const { return apps_; }

 private:
  std::vector<AppThere> apps_;
};

struct FleetNode {
  Resources allocatable;
  Resources requested;  // in-flight pods included
  std::uint64_t pod_capacity = 110, pods = 0;
  double used_cores = 0;   // expected mean use of the pods that are there
  double used_cores2 = 0;  // and its variance over time
  // How much more it may be, as their applications are not known well: nine times in ten no more.
  double unsure_cores = 0;
  bool sleeps = false;  // has no pod and is, or will soon be, powered down
  double sleep_w = 0;
  double wake_j = 0;
  bool open = true;  // false: may not take the pod that waits, whatever the reason
  std::array<double, kCurvePoints> watts{};
  WaitingCurve waiting;      // of its tenants, for CPU
  double curve_error_w = 0;  // deviation of readings from `watts`; 0: they are known
  double wait_error = 0;     // deviation of the share that tenants waited from what `waiting` says; 0: it is known
  double empties_at_s = 0;   // when its last pod is expected to end; only where pods come and go
  const AppsThere* apps = nullptr;  // who runs there; whoever made the fleet keeps it. Null: nobody knows

  double watts_at(double used) const;  // by cores used; beyond all cores the last tenth's slope goes on
  double idle_w() const { return watts.front(); }
};

struct Fleet {
  std::vector<FleetNode> nodes;
  bool idle_nodes_sleep = false;
  bool pods_stay = true;  // false: they come and go, and expected_cores is a steady state
  // Equally likely values of the requested cores in the end (or in the steady state), ascending. Empty: nothing is known.
  std::vector<double> expected_cores;
  Resources mean_request{1, 0};         // of pods to come
  std::vector<double> expected_demand;  // equally likely mean cores of a pod to come, ascending
  double expected_burst_cores2 = 0;     // variance over time of one of them
  double cpu_wait_price_w = 0;          // a core that waits is worth so many watts (placement/objective)
  double latency_price = 1;             // times that the latency term counts (placement/objective)
  double forecast_error_ratio =
      0;             // of the cores requested an hour ahead, over what is requested; 0: known, or not judged
  double trust = 1;  // in the expectations: 0 none, so that each pod goes by its own cost; 1 all
  const PairExcess* pairs = nullptr;  // who slows whom; whoever made the fleet keeps it. Null: nothing is known
  double hold_s = 86'400;             // how long a woken node is expected to stay awake
  double now_s = 0;                   // on the clock of empties_at_s
  std::uint64_t revision = 0;         // rises when curves or expectations changed enough to plan anew
  // If any: no other node is open. So that who asks about a few of many need not look at all.
  std::vector<std::size_t> only;
  // As a ClusterView tells changes (of requests and pods). Empty: nobody tells.
  std::vector<std::uint64_t> edition_of;
  std::uint64_t edition = 0;
};

struct PodEstimate {
  Resources request;
  double demand_cores = 0;   // predicted mean
  double life_s = 0;         // predicted mean; infinity if it stays
  double demand_cores2 = 0;  // variance of what it uses: over time, and of not knowing its mean
  double unsure_cores = 0;   // as a node's
  AppId app = 0;             // whose it is; 0: nobody knows
  double error_cores = 0;    // deviation of pods like it from demand_cores; 0: it is known
};

// How long until the last of so many pods ends, each of that mean life and of no known age: life x (1 + 1/2 + ... + 1/pods).
double last_ends_in_s(double mean_life_s, std::size_t pods);

// As kube-scheduler's cache has it: requests in flight included.
KubeNode kube_node(const FleetNode& node);

bool fits(const FleetNode& node, const PodEstimate& ask);
// Watts that the pod adds, waking an empty node included.
double added_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// Idle watts / pods of this size that the empty node takes + watts that the pod adds to a running node.
double amortised_w(const FleetNode& node, const PodEstimate& ask);

}  // namespace wattle::placement
