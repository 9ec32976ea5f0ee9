// replayed_cluster: the true world integrates its curves, and measures from a requested time on.
#include "sim/improve/replayed_cluster.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

Episode two_servers(const PodDay& day, bool sleep, bool churn) {
  Episode episode;
  episode.options.sleep = sleep;
  episode.options.churn = churn;
  episode.servers = {server_of(10, 100, 200), server_of(10, 50, 150)};
  episode.day = &day;
  episode.expected_cores = {1, 2};
  episode.expected_demand = {0.5};
  return episode;
}

TEST_CASE("the measurement starts on request, and a node that wakes is counted") {
  const PodDay day = steady_day({0.5F, 1.0F});
  Episode episode = two_servers(day, true, true);
  episode.pods = {{0, 1, 100, 1000}, {0, 0, 110, 1000}};
  Cluster cluster(episode);
  cluster.advance_to(100);
  cluster.start_measuring();
  cluster.place(0, 0);
  cluster.advance_to(110);
  cluster.place(1, 0);
  CHECK(cluster.wakes() == 1);
  // 30 s of waking, 70 s at 15% of 10 cores; the other node sleeps.
  cluster.advance_to(200);
  CHECK(cluster.energy_j() == doctest::Approx(3000 + 70 * 115 + 100 * 2));
  CHECK(cluster.fleet().nodes[0].pods == 2);
  cluster.start_measuring();
  CHECK(cluster.wakes() == 0);
  CHECK(cluster.energy_j() == 0);
}

TEST_CASE("energy of a changing day is the sum over its samples of the curve at the used cores") {
  PodDay day = steady_day({0.5F, 1.0F});
  for (std::size_t i = 0; i < kDaySamples; ++i) day.cores[0][i] = static_cast<float>(i % 5) / 4;
  Episode episode = two_servers(day, false, false);
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

TEST_CASE("a cluster model predicts demand by application, an oracle per pod; both have the real curves") {
  Options options;
  options.nodes = 4;
  options.cluster_model = ClusterModel::pods;
  const Episode episode = make_episode(data(), options, 3);
  Episode known = episode;
  known.options.cluster_model = ClusterModel::truth;
  Cluster predicted(episode), truth(known);
  std::size_t same = 0;
  std::vector<double> demands;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    for (Cluster* each : {&predicted, &truth}) each->advance_to(episode.pods[p].arrives_s);
    demands.push_back(predicted.ask(p).demand_cores);
    CHECK(truth.ask(p).demand_cores == episode.day->mean_cores[episode.pods[p].machine]);
    same += demands[p] == truth.ask(p).demand_cores ? 1 : 0;
    for (std::size_t i = 0; i < 4; ++i) {
      if (!placement::fits(predicted.fleet().nodes[i], predicted.ask(p))) continue;
      for (Cluster* each : {&predicted, &truth}) each->place(p, i);
      break;
    }
  }
  CHECK(same == 0);
  for (const Cluster* each : {&predicted, &truth}) CHECK(each->fleet().nodes[0].watts == episode.servers[0].watts);
  // Before the first telemetry, two pods of one application are alike.
  for (std::size_t p = 1; p < 4; ++p)
    for (std::size_t q = 0; q < p; ++q)
      if (episode.pods[p].app == episode.pods[q].app) CHECK(demands[p] == demands[q]);
}

}  // namespace
}  // namespace wattle::sim::consolidation
