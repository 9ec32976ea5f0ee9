// evaluate: whole episodes under one policy, and policies against each other on the same seeds.
// Flow     as live: placement::decide gives extender scores, kube-scheduler's default scores are added, the pod is
// bound to the
//          winner; kube-default is the same without our scores
// Units    in names
// Errors   run_episode forwards what the world refuses
// Threads  pure but for the environment passed in
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/decide.hpp"
#include "sim/episode/env.hpp"
#include "sim/episode/statistics.hpp"
#include "sim/policies/contestant.hpp"

namespace wattle::sim {

struct EpisodeFigures {
  double mean_reward = 0;     // per settled placement
  double episode_return = 0;  // their sum
  double energy_j = 0;
  double late_ratio = 0;            // share of latency-bound pod-seconds beyond the soft latency
  double pressure_ratio = 0;        // share of pod-seconds spent waiting for CPU
  double later_pressure_ratio = 0;  // likewise, from the second hour on; 0 where there is none
  double wait_limit = 0;            // of it in the end: what pods may wait
  double energy_per_work_j = 0;     // of a core-second that was used
  double awake_nodes = 0;           // mean over the episode
  double placements = 0, settled = 0, wakes = 0;
  double turned_away = 0;  // pods that found no place
  double pending_s = 0;    // that a pod waited for one, mean of all
  double energy_per_pod_j = 0, energy_per_request_j = 0;
  double active_node_s = 0;
  double latency_p95_ms = 0;  // of latency-bound pod time
  double response_ms = 0, response_p95_ms = 0;
  double failed_ratio = 0;                        // of users' requests
  double imbalance_pct = 0, utilisation_pct = 0;  // means over the episode
  double crowded_ratio = 0;                       // share of node time beyond the node's crowded_ratio
  double stranded_ratio = 0, lost_pods = 0;
  double deviates_ratio = 0;     // share of decisions that default scoring would not have made
  double recover_decisions = 0;  // after a latency shift, mean; 0 without one
  double aftermath_w = 0;        // mean watts after the last placement
};

// What happened, decision by decision; for plots and for figures that compare contestants along the way.
struct EpisodeTrace {
  std::vector<double> at_s;
  std::vector<double> energy_j;                  // drawn up to then
  std::vector<std::vector<std::uint16_t>> pods;  // of each node, after it
  double curves_change_s = 0;                    // when they do; 0: never
  std::vector<bool> near;                        // it went where its users are within the soft limit, or nearest
};

// The smallest k such that at least 9 of decisions k+1..k+10, counted from the first one at or after told_s, are near;
// the number of those decisions if there is none.
double decisions_to_recover(const EpisodeTrace& trace, double told_s, double until_s);

// Where kube-scheduler would put it, given these scores of the nodes (empty: no extender).
std::optional<std::size_t> bind_target(Env& env, const std::vector<std::int64_t>& scores, Random& random);

// Greedy (no exploration). Ties and chances follow the seed, the same for every contestant.
// A clairvoyant within the budget plays the episode once for each of a row of prices of waiting; what counts is the one with the least
// energy among those that keep the limit, or with the least waiting if none does.
// `trace` is filled if given. `known`: what the controller knows when it begins (learned_in_shadow); empty: nothing.
Result<EpisodeFigures> run_episode(Env& env, const Contestant& contestant, std::uint64_t seed,
                                   EpisodeTrace* trace = nullptr, const std::string& known = {});

// Of each seed, what a controller in mode shadow has learned of that cluster and its applications once it has watched other pods of
// theirs under the default scheduler, for one episode: curves, demand, lives, and how long pods wait.
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

// `warm`: each episode begins with what was learned_in_shadow.
Result<Evaluation> evaluate(const EnvOptions& options, const std::vector<Contestant>& contestants,
                            const std::vector<std::uint64_t>& seeds, bool warm = false);

// Training uses seeds below the first of these; choices (which restart, which option) are made on validation seeds; what is
// reported comes from held-out seeds, on which no run chooses anything.
inline constexpr std::uint64_t kFirstValidationSeed = 1'000'000;
inline constexpr std::uint64_t kFirstHeldOutSeed = 2'000'000;
std::vector<std::uint64_t> validation_seeds(std::size_t n);
std::vector<std::uint64_t> held_out_seeds(std::size_t n);

// The first contestant against each of the others, as people and as programs read it.
std::string to_table(const Evaluation& evaluation);
std::string to_json(const Evaluation& evaluation);

}  // namespace wattle::sim
