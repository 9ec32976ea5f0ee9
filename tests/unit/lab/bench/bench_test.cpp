// bench: the true world integrates its curves, rules see only what is reported, and references are correct.
#include "lab/bench/bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/bench/annealed.hpp"
#include "lab/bench/live_run.hpp"
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

TEST_CASE("a held placement draws the watts at mean demand if curves are linear") {
  const PodDay day = steady_day({0.5F, 1.0F});
  Episode episode = empty_episode(day, true, false);
  const double forever_s = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < 6; ++p) episode.pods.push_back({0, p % 2, 60.0 * static_cast<double>(p), forever_s});
  episode.measure_from_s = 3600;
  episode.end_s = 3600 + 86'400;
  const Placement placement{0, 0, 1, 0, 0, 1};
  const double watts = placement_w(fill_problem(episode), placement);
  CHECK(watts == doctest::Approx(100 + 10 * (0.5 + 1 + 1 + 0.5) + 50 + 10 * (0.5 + 1)));
  CHECK(hold(episode, placement).value().energy_j == doctest::Approx(86'400 * watts).epsilon(1e-6));
}

// Exhaustive search.
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
      server.cores = 4;  // small, so that pods matter on the curve
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

BenchOptions small(bool churn, ClusterModel cluster_model) {
  BenchOptions options;
  options.nodes = {5};
  options.seeds = 2;
  options.first_seed = 5;
  options.moves_per_pod = 200;
  options.rules = {"kube-default", "random", "peaks", "amortised", "planner"};
  options.episode.sleep = true;
  options.episode.churn = churn;
  options.episode.cluster_model = cluster_model;
  options.episode.measure_s = 4 * 3600;
  return options;
}

TEST_CASE("the same seeds give the same bytes, whatever else runs beside") {
  for (const auto& [churn, cluster_model] :
       {std::pair(false, ClusterModel::truth), std::pair(true, ClusterModel::truth),
        std::pair(true, ClusterModel::production)}) {
    BenchOptions options = small(churn, cluster_model);
    options.episode.warm_s = options.episode.measure_s = 3600;
    options.episode.life_s = 1200;
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

TEST_CASE("no rule beats full knowledge, and the planner beats the default if idle nodes sleep") {
  // Full knowledge ignores the owner budget, which keeps nodes awake that a plan for energy alone lets sleep.
  for (const auto& [owner_share, most_over_default] : {std::pair(1.0, -0.4), std::pair(0.5, -0.15)}) {
    BenchOptions options = small(false, ClusterModel::truth);
    options.episode.owner_share = owner_share;
    const BenchResult result = bench(data(), options).value();
    const BenchTable& table = result.tables[0];
    for (const BenchRule& rule : table.rules)
      for (std::size_t k = 0; k < table.seeds.size(); ++k) CHECK(rule.runs[k].energy_j > 0.995 * table.reference_j[k]);
    CHECK(table.rules[4].over_default->mean < most_over_default);
    CHECK(table.rules[4].runs[0].refused == 0);
  }
}

TEST_CASE("an oracle's engine knows the real curves, and each pod's mean demand and lifetime in advance") {
  Options options;
  options.nodes = 3;
  options.churn = true;
  options.warm_s = options.measure_s = 1800;
  // Records its engine's expectation of each pod, and the view's curves.
  class Spy final : public LivePlayer {
   public:
    explicit Spy(const Episode& episode) : episode_(episode), engine_(LiveEngine::make({"kube-default"}).value()) {}
    WorldObserver* observer() override { return engine_.get(); }
    const placement::DecisionEngine& engine() const override { return engine_->engine(); }
    Status settled(std::vector<Settled>) override { return {}; }
    Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod&,
                                              std::uint64_t id) override {
      for (std::size_t i = 0; i < view.nodes.size(); ++i)
        known += view.nodes[i].curve.points() == episode_.servers[i].watts ? 1 : 0;
      asked += view.nodes.size();
      for (std::size_t i = 0; i < view.nodes.size(); ++i)
        if (fits(world.kube_nodes()[i], kube_pod(episode_.pods[id - 1].request))) return std::optional(i);
      return std::optional<std::size_t>();
    }
    std::size_t known = 0, asked = 0;

   private:
    const Episode& episode_;
    std::unique_ptr<LiveEngine> engine_;
  };
  for (const ClusterModel cluster_model : {ClusterModel::truth, ClusterModel::production}) {
    options.cluster_model = cluster_model;
    const Episode episode = make_episode(data(), options, 3);
    Spy spy(episode);
    REQUIRE(play_live(episode, spy, {}, {}));
    REQUIRE(spy.asked > 0);
    CHECK(spy.known == (cluster_model == ClusterModel::truth ? spy.asked : 0));
  }
  placement::ClusterModelOptions about;
  about.known = [](const placement::PodSpec&) {
    placement::DemandPrediction known;
    known.cores = 0.7;
    known.life_s = 99;
    return std::optional(known);
  };
  const placement::ClusterModel model(about);
  CHECK(model.ask({}).demand_cores == doctest::Approx(0.7));
  CHECK(model.predict({}).life_s == doctest::Approx(99));
}

TEST_CASE(
    "episodes are paired: the cluster model and the rule change neither servers nor pods, and sides share no state") {
  Options options;
  const Episode a = make_episode(data(), options, 9);
  options.cluster_model = ClusterModel::pods;
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
