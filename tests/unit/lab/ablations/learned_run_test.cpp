// learned_run: the controller's learning loop in a world, as in live mode.
#include "lab/ablations/learned_run.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "lab/ablations/worlds.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

// The weights never change.
class Idle final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    for (const models::Transition* each : batch) CHECK(std::isfinite(each->reward));
    models::StepStats stats;
    stats.step = ++steps_;
    return stats;
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return models::initial_weights(1); }
  models::Weights checkpoint() const override { return weights(); }
  Status restore(const models::Weights&) override { return {}; }

 private:
  std::uint64_t steps_ = 0;
};

Options small_episode() {
  Options options;
  options.side = Side::train;
  options.cluster_model = ClusterModel::production;
  options.churn = options.sleep = true;
  options.nodes = 4;
  options.warm_s = 0;
  options.measure_s = 6 * 3600;
  options.cluster_seed = 7;
  return options;
}

LearnedRunOptions small_learner() {
  LearnedRunOptions options;
  options.shipped = models::FrozenNetwork::from_weights(models::initial_weights(1), 0).value();
  options.learner.warmup = 40;
  options.learner.batch = 8;
  options.draws = 4;
  return options;
}

}  // namespace

TEST_CASE("a learned run uses each outcome as often as allowed, and the same options give the same run") {
  const Episode episode = make_episode(data(), small_episode(), 7);
  const LearnedRunOptions options = small_learner();
  Idle one, two;
  const auto run = run_learned(episode, options, one), again = run_learned(episode, options, two);
  REQUIRE(run);
  REQUIRE(again);
  CHECK(run->learner.placed > 100);
  CHECK(run->learner.settled > run->learner.placed / 2);
  CHECK(run->learner.steps > 20);
  CHECK(run->learner.steps <= run->learner.settled * 4 / 8);
  CHECK(run->figures.energy_j == again->figures.energy_j);
  // Every candidate may have placed pods, and there are no more candidates than exist.
  CHECK(std::accumulate(run->decisions.begin(), run->decisions.end(), std::uint64_t{0}) >= run->learner.placed);
}

TEST_CASE("worlds: the judged day is the last, and the best alternative does not learn online") {
  WorldsOptions options;
  options.episode = small_episode();
  options.worlds = {"plain"};
  options.policies = {"node-order", "planner", "dqn-learned"};
  options.seeds = 1;
  options.days = 1;
  options.learned = small_learner();
  const auto tables = compare_in_worlds(
      data(), options, []() -> Result<std::unique_ptr<models::QTrainer>> { return std::make_unique<Idle>(); }, {});
  REQUIRE(tables);
  const WorldTable& table = tables->front();
  CHECK((table.best == "node-order" || table.best == "planner"));
  REQUIRE(table.rows.size() == 3);
  for (const WorldRow& row : table.rows) CHECK(row.runs.front().days.size() == 1);
  CHECK(table.rows[0].over_floor->mean == 0);
  CHECK(table.rows[2].runs.front().learned.has_value());
  options.worlds = {"nowhere"};
  CHECK(compare_in_worlds(data(), options, {}, {}).error().code == Errc::not_found);
}

}  // namespace wattle::sim::consolidation
