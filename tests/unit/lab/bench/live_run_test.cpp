// live_run, bench: what a day leaves behind is what the next one begins with, verdicts of gates too.
#include "lab/bench/live_run.hpp"

#include <doctest/doctest.h>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

std::shared_ptr<const models::QNetwork> a_network() {
  return models::FrozenNetwork::from_weights(models::initial_weights(5), 0).value();
}

TEST_CASE("who decides goes on with verdicts that were kept, a gate's where there is one; nonsense is refused") {
  const auto network = a_network();
  KeptVerdicts kept;
  kept.network.network_gated = false;
  kept.network.blocks = 40;
  kept.network.mean = -0.02;
  kept.network.mean_square = 0.01;
  kept.network_why = "it costs less";
  ChooserOptions options;
  options.verdicts = kept;
  for (const char* name : {"planner", "dqn", "dqn-gated"}) {
    const Contestant contestant = contestant_named(name, network.get()).value();
    const auto chooser = Chooser::make(contestant, options, 1);
    REQUIRE(chooser);
    const placement::DecisionEngine& engine = chooser->engine().engine();
    const KeptVerdicts begun = verdicts_of(engine);
    CHECK(begun.network.blocks == (contestant.gate ? 40 : 0));
    CHECK_FALSE(engine.gated());
    CHECK(begun.network_why == (contestant.gate ? "it costs less" : ""));
  }
  options.verdicts->network.evidence = -1;
  CHECK(Chooser::make(contestant_named("dqn-gated", network.get()).value(), options, 1).error().code ==
        Errc::malformed);
}

TEST_CASE("a network is on trial on a cold cluster, and not again on the day after one on which it was heard") {
  BenchOptions options;
  options.nodes = {5};
  options.seeds = 1;
  options.first_seed = 5;
  options.rules = {"planner", "dqn-gated"};
  options.episode.sleep = options.episode.churn = true;
  options.episode.cluster_model = ClusterModel::production;
  options.episode.life_s = 1200;
  options.episode.warm_s = options.episode.measure_s = 3600;
  options.network = a_network();
  options.residual_times = 0;  // it says nothing, so that no verdict follows from what it costs
  for (const bool cold : {true, false}) {
    options.cold = cold;
    const auto result = bench(data(), options);
    REQUIRE(result);
    const auto& rules = result->tables[0].rules;
    CHECK(rules[1].runs[0].energy_j == rules[0].runs[0].energy_j);
    if (cold) {
      CHECK(rules[1].runs[0].network_gated > 0);
    } else {
      CHECK(rules[1].runs[0].network_gated == 0);
    }
  }
}

}  // namespace
}  // namespace wattle::sim::consolidation
