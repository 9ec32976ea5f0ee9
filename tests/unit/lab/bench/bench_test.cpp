// bench: the true world integrates its curves, rules cannot see beyond what they are told, references are what they say.
#include "lab/bench/bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

Episode empty_episode(const PodDay& day, bool sleep, bool churn) {
  Episode episode;
  episode.options.sleep = sleep;
  episode.options.churn = churn;
  episode.servers = {server_of(10, 100, 200), server_of(10, 50, 150)};
  episode.day = &day;
  episode.expected_cores = {1, 2};
  episode.expected_demand = {0.5};
  return episode;
}

TEST_CASE("what is measured begins when it is told to, and who waits for a node that wakes is counted") {
  const PodDay day = steady_day({0.5F, 1.0F});
  Episode episode = empty_episode(day, true, true);
  episode.pods = {{0, 1, 100, 1000}, {0, 0, 110, 1000}};
  Cluster cluster(episode);
  cluster.advance_to(100);
  cluster.start_measuring();
  cluster.place(0, 0);
  cluster.advance_to(110);
  cluster.place(1, 0);
  CHECK(cluster.wakes() == 1);
  CHECK(cluster.wake_wait_s() == doctest::Approx(30 + 20));
  // 30 s of waking, 70 s at 15% of 10 cores; the other node sleeps.
  cluster.advance_to(200);
  CHECK(cluster.energy_j() == doctest::Approx(3000 + 70 * 115 + 100 * 2));
  CHECK(cluster.fleet().nodes[0].pods == 2);
  cluster.start_measuring();
  CHECK(cluster.wakes() == 0);
  CHECK(cluster.energy_j() == 0);
}

TEST_CASE("energy of a changing day is the sum over its samples of the curve at the cores used") {
  PodDay day = steady_day({0.5F, 1.0F});
  for (std::size_t i = 0; i < kDaySamples; ++i) day.cores[0][i] = static_cast<float>(i % 5) / 4;
  Episode episode = empty_episode(day, false, false);
  const double forever_s = std::numeric_limits<double>::infinity();
  episode.pods = {{0, 0, 0, forever_s}, {0, 1, 0, forever_s}, {0, 0, 0, forever_s}};
  Cluster cluster(episode);
  cluster.advance_to(0);
  cluster.start_measuring();
  for (std::size_t p = 0; p < 3; ++p) cluster.place(p, p == 2 ? 1 : 0);
  cluster.advance_to(kSample_s * kDaySamples);
  double expected_j = 0;
  for (std::size_t i = 0; i < kDaySamples; ++i) {
    const double cores = static_cast<double>(i % 5) / 4;
    expected_j += kSample_s * (100 + 100 * (cores + 1) / 10 + 50 + 100 * cores / 10);
  }
  CHECK(cluster.energy_j() == doctest::Approx(expected_j).epsilon(1e-9));
}

TEST_CASE("a held placement draws what its watts at mean demand say when curves are straight") {
  const PodDay day = steady_day({0.5F, 1.0F});
  Episode episode = empty_episode(day, true, false);
  const double forever_s = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < 6; ++p) episode.pods.push_back({0, p % 2, 60.0 * static_cast<double>(p), forever_s});
  episode.measure_from_s = 3600;
  episode.end_s = 3600 + 86'400;
  const Placement placement{0, 0, 1, 0, 0, 1};
  const double watts = placement_w(fill_problem(episode), placement);
  CHECK(watts == doctest::Approx(100 + 10 * (0.5 + 1 + 1 + 0.5) + 50 + 10 * (0.5 + 1)));
  CHECK(hold(episode, placement).energy_j == doctest::Approx(86'400 * watts));
}

// Every placement is looked at.
Placement best_of_all(const FillProblem& problem) {
  Placement placement(problem.demand_cores.size(), 0), best;
  double least_w = 0;
  for (;;) {
    if (feasible(problem, placement)) {
      const double here_w = placement_w(problem, placement);
      if (best.empty() || here_w < least_w) {
        least_w = here_w;
        best = placement;
      }
    }
    std::size_t p = 0;
    while (p < placement.size() && ++placement[p] == problem.servers.size()) placement[p++] = 0;
    if (p == placement.size()) return best;
  }
}

TEST_CASE("annealing reaches the exact optimum of small fleets, always on and sleeping") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    FillProblem problem;
    problem.sleep = seed % 2 == 0;
    const std::size_t nodes = 2 + seed % 5;  // up to 6
    const std::size_t pods = nodes <= 4 ? 8 : 7;
    const auto servers = draw_fleet(data().train_servers, nodes, seed).value();
    for (ServerModel server : servers) {
      server.cores = 4;  // small, so that pods move the curve
      problem.servers.push_back(server);
      problem.slots.push_back(2 + pick(random, 4));
    }
    problem.slots[0] = pods;
    for (std::size_t p = 0; p < pods; ++p) problem.demand_cores.push_back(uniform(random, 0.05, 1));
    const Placement best = best_of_all(problem);
    const Placement found = anneal(problem, Placement(pods, 0), 200'000, seed);
    REQUIRE(feasible(problem, found));
    CHECK(placement_w(problem, found) == doctest::Approx(placement_w(problem, best)).epsilon(1e-9));
  }
}

BenchOptions small(bool churn, ClusterModel knowledge) {
  BenchOptions options;
  options.nodes = {5};
  options.seeds = 2;
  options.first_seed = 5;
  options.moves_per_pod = 200;
  options.rules = {"kube-default", "random", "peaks", "amortised", "planner"};
  options.episode.sleep = true;
  options.episode.churn = churn;
  options.episode.knowledge = knowledge;
  options.episode.measure_s = 4 * 3600;
  return options;
}

TEST_CASE("the same seeds give the same bytes, whatever else is run beside") {
  for (const auto& [churn, knowledge] : {std::pair(false, ClusterModel::truth), std::pair(true, ClusterModel::truth),
                                         std::pair(true, ClusterModel::production)}) {
    BenchOptions options = small(churn, knowledge);
    if (knowledge == ClusterModel::production) {  // second by second: two hours
      options.episode.warm_s = options.episode.measure_s = 3600;
      options.episode.life_s = 1200;
    }
    const BenchResult result = bench(data(), options).value();
    CHECK(to_json(result) == to_json(bench(data(), options).value()));
    CHECK(to_table(result).find("planner") != std::string::npos);
    options.rules = {"planner"};
    const BenchResult alone = bench(data(), options).value();
    CHECK(alone.tables[0].rules[0].runs[1].energy_j == result.tables[0].rules[4].runs[1].energy_j);
    options.rules = {"guess"};
    CHECK(bench(data(), options).error().code == Errc::not_found);
  }
}

TEST_CASE("no rule beats full knowledge, and the planner beats the default where idle nodes sleep") {
  const BenchResult result = bench(data(), small(false, ClusterModel::truth)).value();
  const BenchTable& table = result.tables[0];
  for (const BenchRule& rule : table.rules)
    for (std::size_t k = 0; k < table.seeds.size(); ++k) CHECK(rule.runs[k].energy_j > 0.995 * table.reference_j[k]);
  CHECK(table.rules[4].over_default->mean < -0.2);
  CHECK(table.rules[4].runs[0].refused == 0);
}

// Counts what it is shown.
class Spy final : public placement::Policy {
 public:
  Spy() : Policy({"spy", "the first that fits"}) {}
  void score(placement::PolicyContext& context, std::span<double> values) override {
    demands.push_back(context.ask().demand_cores);
    curves.push_back(context.fleet().nodes[0].watts);
    values[context.feasible().front()] = 1;
  }
  std::vector<double> demands;
  std::vector<std::array<double, placement::kCurvePoints>> curves;
};

TEST_CASE("imitated knowledge is told fitted curves and predictions per application, truth the real ones") {
  Options options;
  options.nodes = 4;
  options.knowledge = ClusterModel::imitated;
  const Episode episode = make_episode(data(), options, 3);
  Spy imitated;
  run(episode, imitated);
  Episode known = episode;
  known.options.knowledge = ClusterModel::truth;
  Spy truth;
  run(known, truth);
  REQUIRE(imitated.demands.size() == episode.pods.size());
  std::size_t same = 0;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    CHECK(truth.demands[p] == episode.day->mean_cores[episode.pods[p].machine]);
    same += imitated.demands[p] == truth.demands[p] ? 1 : 0;
  }
  CHECK(same == 0);
  CHECK(truth.curves[0] == episode.servers[0].watts);
  CHECK(imitated.curves[0] != episode.servers[0].watts);
  CHECK(imitated.curves.back() != imitated.curves.front());  // it goes on learning
  // Before the first telemetry, two pods of one application are alike.
  for (std::size_t p = 1; p < 4; ++p)
    for (std::size_t q = 0; q < p; ++q)
      if (episode.pods[p].app == episode.pods[q].app) CHECK(imitated.demands[p] == imitated.demands[q]);
}

TEST_CASE("episodes pair: knowledge and rules change neither servers nor pods, sides share nothing") {
  Options options;
  const Episode a = make_episode(data(), options, 9);
  options.knowledge = ClusterModel::imitated;
  const Episode b = make_episode(data(), options, 9);
  REQUIRE(a.pods.size() == b.pods.size());
  for (std::size_t p = 0; p < a.pods.size(); ++p) CHECK(a.pods[p].machine == b.pods[p].machine);
  options.side = Side::train;
  const Episode c = make_episode(data(), options, 9);
  CHECK(a.day->name != c.day->name);
  for (const ServerModel& here : a.servers)
    for (const ServerModel& there : c.servers) CHECK(here.watts != there.watts);
}

}  // namespace
}  // namespace wattle::sim::consolidation
