// decision_windows: what decisions are worth where pairs disturb each other, in a world and in episodes of consolidation.
#include "lab/bench/decision_windows.hpp"

#include <doctest/doctest.h>

#include "lab/bench/live_run.hpp"
#include "tests/unit/sim/paired_world.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

using namespace wattle;
using namespace wattle::sim;

TEST_CASE(
    "decisions are judged by so many: what they lose, what the oracle would have lost there, what their pods wait") {
  WorldOptions options = two_machines();
  options.pairs = one_pair(0.5);
  options.pairs_from_s = 100;
  ReportedPods decides;
  const auto judged = DecisionWindows::make(2, {}, 1).value();
  judged->begin(&decides);
  World world(options, judged.get());
  std::uint64_t decision = 0;
  const auto place = [&](std::size_t app, std::size_t node) {
    const SimPod pod = pod_of_app(app, 2 + static_cast<double>(app));
    judged->decided(world, world.view(pod.spec), pod, node);
    REQUIRE(world.place(pod, node, decision++, {}));
  };
  world.advance_to(50);
  place(1, 0);  // before they begin: not judged
  world.advance_to(200);
  place(2, 1);
  CHECK(judged->windows().size() == 1);
  world.advance_to(260);
  place(0, 0);
  world.advance_to(1000);
  REQUIRE(judged->windows().size() == 1);
  const DecisionWindow& first = judged->windows().front();
  CHECK(first.decisions == 2);
  CHECK(first.from_s == 0);
  CHECK(first.placed_cores == doctest::Approx(6));
  CHECK(first.lost_cores == doctest::Approx(0.5 * (2 + 3)));
  CHECK(first.oracle_lost_cores == 0);
  // Told in time for 740 s of the one that waits a third of it, and for 800 s of the other; an interval that one began in is not.
  CHECK(first.pod_s == doctest::Approx(740 + 800).epsilon(0.02));
  CHECK(first.waited_pod_s == doctest::Approx(740.0 / 3).epsilon(0.02));
  CHECK(decides.uses.size() == 3);  // who decides is told all
  SimPod last = pod_of_app(2, 1);
  last.spec.uid = "last";
  judged->decided(world, world.view(last.spec), last, 1);
  REQUIRE(judged->windows().size() == 2);
  CHECK(judged->windows().back().from_s == doctest::Approx(800));
  CHECK(judged->windows().back().lost_cores == 0);
}

TEST_CASE("episodes with pairs: whoever judges decisions changes nothing, and finds no fault with the oracle") {
  consolidation::Options options;
  options.churn = options.sleep = true;
  options.cluster_model = consolidation::ClusterModel::production;
  options.nodes = 6;
  options.warm_s = options.measure_s = 3600;
  options.shift.pairs = 0.5;
  options.shift.pairs_from_s = 1800;
  const consolidation::Episode episode = make_episode(consolidation::data(), options, 1);
  const auto played = [&](const char* name, std::size_t decisions_each) {
    consolidation::LiveRunOptions live;
    live.decision_window = decisions_each;
    return run_live(episode, nullptr, contestant_named(name).value(), live).value();
  };
  const auto plain = played("planner", 0), judged = played("planner", 10), oracle = played("pairs-oracle", 10);
  CHECK(plain.decisions.empty());
  CHECK(plain.energy_j == judged.energy_j);
  CHECK(plain.waiting == judged.waiting);
  REQUIRE(judged.decisions.size() > 3);
  double lost = 0, avoidable = 0;
  for (std::size_t k = 0; k < judged.decisions.size(); ++k) {
    const DecisionWindow& window = judged.decisions[k];
    CHECK((window.decisions == 10 || k + 1 == judged.decisions.size()));
    CHECK(window.waited_pod_s <= window.pod_s * (1.0 / 3 + 1e-9));
    lost += window.lost_cores;
    avoidable += window.lost_cores - window.oracle_lost_cores;
  }
  CHECK(lost > 0);
  CHECK(avoidable > 0.5 * lost);
  for (const DecisionWindow& window : oracle.decisions) CHECK(window.lost_cores == window.oracle_lost_cores);
}
