// evaluate: runs whole episodes under one policy, and compares policies on the same seeds.
// Flow     as live: placement::decide returns extender scores, kube-scheduler's default scores are added, and the pod
//          is bound to the winner; kube-default is the same without the extender's scores
// Units    in names
// Errors   run_episode forwards the world's
// Threads  pure except for the environment passed in
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "placement/decide/decide.hpp"
#include "sim/env/env.hpp"
#include "sim/env/statistics.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim {

struct EpisodeFigures {
  double mean_reward = 0;     // per settled placement
  double episode_return = 0;  // sum of the rewards
  double energy_j = 0;
  double late_ratio = 0;            // share of latency-bound pod-seconds beyond the soft latency
  double pressure_ratio = 0;        // share of pod-seconds spent waiting for CPU
  double later_pressure_ratio = 0;  // the same from the second hour on; 0 for shorter episodes
  double wait_limit = 0;            // final limit of the share that pods may wait
  double energy_per_work_j = 0;     // per core-second used
  double awake_nodes = 0;           // mean over the episode
  double placements = 0, settled = 0, wakes = 0;
  double turned_away = 0;  // pods that were never placed
  double pending_s = 0;    // time that a pod waited for a place, mean over all
  double energy_per_pod_j = 0, energy_per_request_j = 0;
  double active_node_s = 0;
  double latency_p95_ms = 0;  // of latency-bound pod time
  double response_ms = 0, response_p95_ms = 0;
  double failed_ratio = 0;                        // of users' requests
  double imbalance_pct = 0, utilisation_pct = 0;  // means over the episode
  double crowded_ratio = 0;                       // share of node time beyond the node's crowded_ratio
  double stranded_ratio = 0, lost_pods = 0;
  double deviates_ratio = 0;     // share of decisions that differ from default scoring
  double recover_decisions = 0;  // after a latency shift, mean; 0 without one
  double aftermath_w = 0;        // mean watts after the last placement
};

// The course of an episode, decision by decision, for plots and for comparisons over time.
struct EpisodeTrace {
  std::vector<double> at_s;
  std::vector<double> energy_j;                  // drawn up to then
  std::vector<std::vector<std::uint16_t>> pods;  // per node, after the decision
  double curves_change_s = 0;                    // time at which the curves change; 0: never
  std::vector<bool> near;                        // the pod's node is within its users' soft limit, or is the nearest
};

// Returns the smallest k such that at least 9 of decisions k+1..k+10, counted from the first one at or after
// reported_s, are near; the number of those decisions if there is none.
double decisions_to_recover(const EpisodeTrace& trace, double reported_s, double until_s);

// Returns kube-scheduler's choice, given these scores of the nodes (empty: no extender).
std::optional<std::size_t> bind_target(Env& env, const std::vector<std::int64_t>& scores, Random& random);

// Runs an episode greedily (without exploration). Ties and random events follow the seed, which is the same for every
//          contestant. A clairvoyant with a budget runs the episode once per price of waiting. The result is the run of
//          least energy among
// those within the limit, or the run of least waiting if there is none.
// `trace` is filled if given. `known`: the controller's initial cluster model (learned_in_shadow); may be empty.
Result<EpisodeFigures> run_episode(Env& env, const Contestant& contestant, std::uint64_t seed,
                                   EpisodeTrace* trace = nullptr, const std::string& known = {});

// Returns, per seed, the cluster model (curves, demand, lifetimes, waiting) of a controller in shadow mode after one
// episode under the default scheduler, with other pods of the same applications.
Result<std::vector<std::string>> learned_in_shadow(const EnvOptions& options, const std::vector<std::uint64_t>& seeds);

struct ContestantFigures {
  std::string name;
  std::vector<EpisodeFigures> episodes;  // one per seed
  std::vector<double> column(double EpisodeFigures::*what) const;
};

struct Evaluation {
  std::string scenario;
  std::vector<std::uint64_t> seeds;
  std::vector<ContestantFigures> contestants;
  const ContestantFigures& of(const std::string& name) const;  // must exist
};

// `warm`: each episode begins with the result of learned_in_shadow.
Result<Evaluation> evaluate(const EnvOptions& options, const std::vector<Contestant>& contestants,
                            const std::vector<std::uint64_t>& seeds, bool warm = false);

// Training uses seeds below kFirstValidationSeed. Choices (which restart, which option) use validation seeds. Reported
// figures come from held-out seeds, on which no choice is made.
inline constexpr std::uint64_t kFirstValidationSeed = 1'000'000;
inline constexpr std::uint64_t kFirstHeldOutSeed = 2'000'000;
std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::size_t n);

// Formats the first contestant against each of the others, for people and for programs.
std::string to_table(const Evaluation& evaluation);
std::string to_json(const Evaluation& evaluation);

}  // namespace wattle::sim
