// fleet: all nodes of a cluster, the input of planning. The controller and the simulator each fill it from their own
// data.
// Truth    never reachable from here: the simulator writes fitted or true curves, and predicted or true demand of the
//          waiting pod, but never demand of future pods
// Units    in names; watts at 0,10,...,100% utilisation
// Errors   none
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/pair_excess.hpp"
#include "placement/cluster/power_curve.hpp"
#include "placement/cluster/waiting.hpp"

namespace wattle::placement {

// Sums over the pods of one application on one node.
struct AppThere {
  AppId app = 0;
  std::uint64_t pods = 0;
  double request_cores = 0, demand_cores = 0;
};
// Applications on one node, each once.
class AppsThere {
 public:
  // Adds (sign 1) or removes (sign -1) one pod of the application, with its request and demand. Ignores application 0
  // and the removal of an absent application.
  void add(AppId app, double request_cores, double demand_cores, int sign);
  std::span<const AppThere> all() const { return apps_; }

 private:
  std::vector<AppThere> apps_;
};

struct FleetNode {
  Resources allocatable;
  Resources requested;  // including in-flight pods
  std::uint64_t pod_capacity = 110, pods = 0;
  double used_cores = 0;   // expected mean usage of its pods
  double used_cores2 = 0;  // variance of that usage over time
  // Upper bound of the additional usage from poorly known applications, with 90% probability.
  double uncertain_cores = 0;
  bool sleeps = false;  // has no pod and is powered down now or soon
  double sleep_w = 0;
  double wake_j = 0;
  bool open = true;  // false: may not take the waiting pod, for any reason
  std::array<double, kCurvePoints> watts{};
  WaitingCurve waiting;             // CPU waiting of its tenants
  double curve_error_w = 0;         // deviation of readings from `watts`; 0: exact
  double wait_error = 0;            // deviation of the waited share from `waiting`; 0: exact
  double empties_at_s = 0;          // expected end of its last pod; only where pods come and go
  const AppsThere* apps = nullptr;  // applications that run there, owned by the fleet's creator; null: unknown

  // Watts at half load. Follows `watts` only beyond kOrderHysteresis, so that noise does not reorder nodes. 0: not
  //          kept.
  double half_load_w = 0;

  double watts_at(double used) const;  // by cores used; extrapolates the last tenth's slope beyond all cores
  double idle_w() const { return watts.front(); }
};

struct Fleet {
  std::vector<FleetNode> nodes;
  bool idle_nodes_sleep = false;
  bool pods_stay = true;  // false: they come and go, and expected_cores is a steady state
  // Equally likely values of the final (or steady-state) requested cores, ascending. Empty if unknown.
  std::vector<double> expected_cores;
  Resources mean_request{1, 0};         // of future pods
  Resources usual_request{1, 0};        // mean_request, followed only beyond kUsualHysteresis
  std::vector<double> expected_demand;  // equally likely mean cores of a future pod, ascending
  double expected_burst_cores2 = 0;     // variance over time of a future pod
  double cpu_wait_price_w = 0;          // price of a waiting core in watts (placement/worth/objective)
  double latency_price = 1;             // factor of the latency term (placement/worth/objective)
  double forecast_error_ratio = 0;  // error of the one-hour forecast over the cores requested; 0: exact, or not judged
  double trust = 1;                 // in the expectations. 0: each pod's own cost decides; 1: full trust
  const PairExcess* pairs = nullptr;  // pairs that slow each other, owned by the fleet's creator; null: unknown
  double hold_s = 86'400;             // how long a woken node is expected to stay awake
  double now_s = 0;                   // on the clock of empties_at_s
  std::uint64_t revision = 0;         // increases when curves or expectations changed enough for a new plan
  // If not empty: only these nodes are open. Lets callers with few candidates skip the others.
  std::vector<std::size_t> only;
  // Changes of requests and pods, as in ClusterView. Empty if not reported.
  std::vector<std::uint64_t> edition_of;
  std::uint64_t edition = 0;
};

struct PodEstimate {
  Resources request;
  double demand_cores = 0;     // predicted mean
  double life_s = 0;           // predicted mean; infinity if it stays
  double demand_cores2 = 0;    // variance of its usage: over time and from uncertainty of the mean
  double uncertain_cores = 0;  // as for a node
  AppId app = 0;               // its application; 0: unknown
  double error_cores = 0;      // deviation of similar pods from demand_cores; 0: exact
};

// Relative changes up to which an order of nodes stays: of a node's watts at half load, and of the usual pod's
//          requests.
inline constexpr double kOrderHysteresis = 0.03, kUsualHysteresis = 0.1;

// Number of usual pods that fit the empty node by the scarcer of its cores and memory. Fractional, so that the order of
// nodes does not depend on the size of the usual pod if cores are scarce on every node.
double places_of(const FleetNode& node, const Resources& usual);
// Number of usual pods that need as much as this request.
double places_taken(const Resources& request, const Resources& usual);
// Watts at half load per place: the key of policy node-order, lowest first.
double packing_w(const FleetNode& node, const Resources& usual);

// Returns the expected time until the last of `pods` pods ends, each with this mean lifetime and unknown age: life x
// (1 + 1/2 + ... + 1/pods).
double last_ends_in_s(double mean_life_s, std::size_t pods);

bool fits(const FleetNode& node, const PodEstimate& ask);
// Watts that the pod adds, including the wake of an empty node.
double added_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// Idle watts / pods of this size that the empty node takes + watts that the pod adds to a running node.
double amortised_w(const FleetNode& node, const PodEstimate& ask);

}  // namespace wattle::placement
