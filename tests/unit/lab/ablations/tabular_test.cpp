// Tabular Q in the simplest instance of its field: three equal nodes, memory only, one pod of look-ahead
// (`memory_only`).
#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "lab/policies/lab_policies.hpp"
#include "placement/learn/tabular.hpp"
#include "sim/env/evaluate.hpp"
#include "sim/env/train.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr std::size_t kTables = 5, kDays = 5;

EnvOptions simple_instance(placement::Preset preset) {
  EnvOptions options;
  options.scenario = find_scenario("memory_only").value();
  options.scenario.placements = 150;
  options.reward.preset = preset;
  options.reward.load = placement::LoadKind::memory;
  options.look_ahead = 1;
  return options;
}

Result<TrainResult> taught(const EnvOptions& env, std::uint64_t seed, models::QTrainer& trainer) {
  TrainOptions options;
  options.env = env;
  options.seed = seed;
  options.decisions = 8000;
  options.learner = working_learner_options(env, 1);
  options.learner.n_step = 1;
  return train(options, trainer);
}

// Share of an episode's decisions in which the table cannot distinguish nodes.
double neutral_share(const EnvOptions& options, const models::QNetwork& table, std::uint64_t seed) {
  Env env(options);
  const auto engine = LiveEngine::make({"tabular-q", {{options.reward, options.mask}}}).value();
  env.begin(seed, engine.get());
  Random random(seed);
  double all = 0, neutral = 0;
  while (!env.done()) {
    env.take_settled();
    env.expect(engine->expected(env.waiting().spec));
    const placement::ClusterView view = env.view();
    const auto advice = engine->decide(view, env.waiting().spec, &table, 0, random);
    const auto target = bind_target(env, advice.scores, random);
    if (!target) {
      env.turn_away();
      continue;
    }
    all += 1;
    neutral += advice.record.decided_by == "neutral" ? 1 : 0;
    REQUIRE(env.bind(*target, view));
  }
  return neutral / all;
}

double mean_reward(const Evaluation& evaluation, const std::string& name) {
  return mean(evaluation.of(name).column(&EpisodeFigures::mean_reward));
}

}  // namespace

TEST_CASE("tabular Q beats chance and matches the heuristic of its reward, over five trainings of five seeds") {
  struct Instance {
    placement::Preset preset;
    const char* heuristic;  // balance and compress, as in the literature
  };
  for (const Instance& instance :
       {Instance{placement::Preset::lb, "least-allocated"}, Instance{placement::Preset::ee, "most-allocated"}}) {
    CAPTURE(placement::to_string(instance.preset));
    const EnvOptions env = simple_instance(instance.preset);
    std::vector<double> table, chance, heuristic;
    for (std::size_t k = 0; k < kTables; ++k) {
      const auto trainer = placement::make_tabular_trainer();
      const auto result = taught(env, 50'001 + 1000 * k, *trainer);
      REQUIRE(result);
      const auto network = placement::network_of(result->weights, 1, "table");
      REQUIRE(network);
      std::vector<std::uint64_t> seeds(kDays);
      std::iota(seeds.begin(), seeds.end(), kFirstHeldOutSeed + 10'000 + 100 * k);
      const auto evaluation = evaluate(env,
                                       {lab_contestant("tabular-q", network->get()).value(),
                                        lab_contestant("random").value(), lab_contestant(instance.heuristic).value()},
                                       seeds);
      REQUIRE(evaluation);
      table.push_back(mean_reward(*evaluation, "tabular-q"));
      chance.push_back(mean_reward(*evaluation, "random"));
      heuristic.push_back(mean_reward(*evaluation, instance.heuristic));
    }
    const Interval over_chance = paired_difference(table, chance), over_heuristic = paired_difference(table, heuristic);
    MESSAGE("tabular-q " << mean(table) << ", random " << mean(chance) << ", " << std::string(instance.heuristic) << " "
                         << mean(heuristic));
    MESSAGE("over random " << over_chance.mean << " [" << over_chance.low << ", " << over_chance.high
                           << "], over its heuristic " << over_heuristic.mean << " [" << over_heuristic.low << ", "
                           << over_heuristic.high << "]");
    CHECK(over_chance.above_zero());
    CHECK_FALSE(over_heuristic.below_zero());
  }
}

TEST_CASE("under lb a table distinguishes nodes; absolute bins left 75 to 96% of answers neutral") {
  for (const char* scenario : {"memory_only", "churn"}) {
    CAPTURE(std::string(scenario));
    EnvOptions env = simple_instance(placement::Preset::lb);
    env.scenario = find_scenario(scenario).value();
    env.scenario.placements = 150;
    env.reward.load = placement::LoadKind::pods;
    const auto trainer = placement::make_tabular_trainer();
    const auto result = taught(env, 1, *trainer);
    REQUIRE(result);
    const auto network = placement::network_of(result->weights, 1, "table");
    REQUIRE(network);
    double sum = 0;
    for (std::uint64_t k = 0; k < 5; ++k) sum += neutral_share(env, **network, kFirstHeldOutSeed + k) / 5;
    MESSAGE("neutral: " << 100 * sum << "%");
    CHECK(sum < 0.1);
  }
}
