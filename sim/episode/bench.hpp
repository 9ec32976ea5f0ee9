// bench: policies against each other on consolidation, on the same fleets and pods.
// Plays    with oracle knowledge in a Cluster (sim/episode/told_cluster), with production knowledge in a World by the controller's decision engine
//          (sim/episode/live_run); the reference is of oracle knowledge
// Pairing  every policy sees the same servers, pods, readings and past; only its own choices differ
// Requests a policy whose name ends in "+requests" has the controller's rule of requests beside it (sim/world/request_setter), in
//          "+cpu-requests" of CPU alone; with production knowledge alone
// Errors   not_found: policies that do not exist, or that need telemetry where there is none
// Threads  single owner; the same options give the same bytes
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/policies/policy.hpp"
#include "sim/episode/decision_windows.hpp"
#include "sim/episode/statistics.hpp"
#include "sim/episode/told_cluster.hpp"
#include "sim/reference/annealed.hpp"
#include "sim/scenarios/consolidation.hpp"
#include "sim/world/kube_scoring.hpp"

namespace wattle::sim::consolidation {

// Pods' time and what they waited of it for CPU; what was drawn and done meanwhile.
struct WaitedTime {
  double pod_s = 0, waited_pod_s = 0;
  double energy_j = 0, work_core_s = 0;
};

struct RunFigures {
  double energy_j = 0, awake_nodes = 0, wakes = 0, wake_wait_s = 0, placements = 0;
  double refused = 0;      // pods that had found no place at the end; in a Cluster: when they came
  double pending_s = 0;    // that a pod waited for a place, mean of all; in a World
  double deferred_s = 0;   // of which it was put off though it need not have been, or until room was expected; likewise
  double deferrals = 0;    // how often one was
  double work_core_s = 0;  // that was done; in a World
  double life_stretch = 1;        // pods' time over what it would have been, had no pair disturbed another; in a World
  double waiting = 0;             // share of pod time spent waiting, for CPU or for a node that wakes
  std::vector<WaitedTime> hours;  // of the whole episode, one each, from its start; in a World
  std::vector<DecisionWindow> decisions;  // where pairs disturb each other, if it is asked for
  double wait_limit = 0;                  // of it in the end: the share that pods may wait; likewise
  double requests_set = 0, given_up_cores = 0,
         given_up_bytes = 0;          // writes; what pods requested less than they came with, on average
  double network_gated = 0;           // share of choices that a guarded network was left out of
  Placement placement;                // of a fill
  std::vector<double> node_energy_j;  // of an oracle's cluster
};
RunFigures run(const Episode& episode, placement::Policy& policy);
// A placement held for a day, pods in their places from the start.
RunFigures hold(const Episode& episode, const Placement& placement);
// The same servers and applications on another day.
Episode episode_before(const Dataset& data, const Options& drawn, std::uint64_t seed);
// The best known placement of a fill.
Placement reference_placement(const Episode& episode, std::size_t moves);

struct BenchOptions {
  Options episode;
  std::vector<std::size_t> nodes{10};
  std::uint64_t first_seed = 0;
  std::size_t seeds = 10;
  std::vector<std::string> rules;
  std::size_t moves_per_pod = 4000;                 // of the annealed reference; 0: none
  std::shared_ptr<const models::QNetwork> network;  // of the policy dqn or tabular-q
  placement::NetworkOptions learned;                // likewise
  SchedulerOptions scheduler;                       // with production knowledge
  double defer_s = 0;                               // production: a pod may be put off so long
  std::size_t look_ahead = 0;                       // production: so many next pods are told
  std::size_t decision_window = 0;  // production, of pairs: decisions that are told of together; 0: none
  bool cold = false;                // production: nothing is known at the start
  double residual_times = 1;        // of the network; below 0 it wants the opposite of what it learned
};
// A contestant's policy (sim/policies/contestant) where there is a fleet alone, with oracle knowledge.
Result<std::unique_ptr<placement::Policy>> make_fleet_policy(const std::string& name, std::uint64_t seed,
                                                             const BenchOptions& options);

// Of one seed there is no interval: the ends are no numbers.
struct BenchRule {
  std::string name;
  std::vector<RunFigures> runs;  // one per seed
  std::optional<Interval> gap;   // to the reference
  std::optional<Interval>
      over_default;  // energy / that of kube-default - 1, where sizes differ or it is crowded of the same work
  std::optional<Interval> over_amortised;
  std::optional<Interval> over_planner;
  // In a World: what pods waited for CPU of the time that is judged, and from the second hour of the whole episode on.
  std::optional<Interval> waiting, later_waiting;
};
// Absent: it ends before.
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
