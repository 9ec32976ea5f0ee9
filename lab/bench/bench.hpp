// bench: compares policies on consolidation, on the same fleets and pods.
// Plays    in a World, with the controller's decision engine (lab/bench/live_run)
// Pairing  every policy gets the same servers, pods, readings and history; only its own choices differ
// Requests a policy whose name ends in "+requests" runs with the controller's rule of requests
//          (sim/world/request_setter), in "+cpu-requests" only for CPU
// Errors   not_found: unknown policies
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "lab/bench/annealed.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/decide/policies/policy.hpp"
#include "sim/env/statistics.hpp"
#include "sim/scenarios/consolidation.hpp"
#include "sim/world/kube_scoring.hpp"
#include "sim/world/request_setter.hpp"

namespace wattle::sim::consolidation {

// Pods' time and the part that they waited for CPU, with the energy and work of the same period.
struct WaitedTime {
  double pod_s = 0, waited_pod_s = 0;
  double energy_j = 0, work_core_s = 0;
  double late_pod_s = 0, limited_pod_s = 0;  // of pods with a soft latency limit: while late, and all
};

struct RunFigures {
  double energy_j = 0, awake_nodes = 0, wakes = 0, wake_wait_s = 0, placements = 0;
  double refused = 0;    // pods without a place at the end
  double pending_s = 0;  // time that a pod waited for a place, mean over all
  // Part of pending_s in which the pod was deferred although it could have been placed, or until room was expected.
  double deferred_s = 0;
  double deferrals = 0;    // number of deferrals per pod
  double work_core_s = 0;  // work done
  // Placements of owners with other replicas; those that gave a node or a zone more than half of them, rounded up.
  double replicas = 0, node_over_half = 0, zone_over_half = 0;
  double life_stretch = 1;        // pods' time over their time without disturbing pairs
  double waiting = 0;             // share of pod time spent waiting, for CPU or for a waking node
  std::vector<WaitedTime> hours;  // one per hour of the whole episode, from its start
  double wait_limit = 0;          // final limit of the share that pods may wait; in a World
  double requests_set = 0, given_up_cores = 0,
         given_up_bytes = 0;            // writes; mean reduction of the pods' requests
  std::vector<ProjectedDay> projected;  // by day (sim/world/request_setter)
  std::vector<double> asleep_w;         // by hour
  double network_gated = 0;             // share of choices for which another candidate served than the network
  Placement placement;                  // for a fill; cluster::kNowhere: no place
};

// Builds an episode of the same servers and applications on another day.
Episode episode_before(const Dataset& data, const Options& drawn, std::uint64_t seed);
// Returns the best known placement of a fill, from the feasible ones among those that rules made.
Placement reference_placement(const Episode& episode, std::span<const Placement> made, std::size_t moves);

struct BenchOptions {
  Options episode;
  std::vector<std::size_t> nodes{10};
  std::uint64_t first_seed = 0;
  std::size_t seeds = 10;
  std::vector<std::string> rules;
  std::size_t moves_per_pod = 4000;                 // of the annealed reference; 0: none
  std::shared_ptr<const models::QNetwork> network;  // of the policy dqn or tabular-q
  placement::NetworkOptions learned;                // for the policy dqn
  std::int64_t extender_weight = kExtenderWeight;
  double defer_s = 0;          // longest deferral of a pod
  std::size_t look_ahead = 0;  // number of next pods made known
  bool cold = false;           // starts without any learned state
};
// Intervals of a single seed have ends that are NaN.
struct BenchRule {
  std::string name;
  std::vector<RunFigures> runs;  // one per seed
  std::optional<Interval> gap;   // to the reference
  std::optional<Interval>
      over_default;  // energy / that of kube-default - 1; per unit of work if sizes differ or the cluster is crowded
  std::optional<Interval> over_node_order;
  std::optional<Interval> over_planner;
  // Share of time that pods waited for CPU: over the judged time, and from the second hour of the whole
  // episode on.
  std::optional<Interval> waiting, later_waiting;
};
// Share of time that pods waited for CPU from the second hour on. No value if the episode is shorter.
std::optional<double> waited_from_second_hour(const RunFigures& figures);
struct BenchTable {
  std::size_t nodes = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> days;
  std::vector<double> reference_j;
  std::vector<BenchRule> rules;
};
struct BenchResult {
  BenchOptions options;
  std::string origin;
  std::vector<BenchTable> tables;  // one per node count
};

Result<BenchResult> bench(const Dataset& data, const BenchOptions& options);

std::string to_table(const BenchResult& result);
std::string to_json(const BenchResult& result);

}  // namespace wattle::sim::consolidation
