// rollout, labels: choices are judged by their consequences, and the labels survive a file.
#include "sim/improve/imitate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/worth/features.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

TEST_CASE("under churn the regret of a choice is the energy that it adds until the horizon, by hand") {
  const PodDay day = steady_day({0.5F});
  Episode episode;
  episode.options.sleep = true;
  episode.options.churn = true;
  episode.options.life_s = 1000;
  episode.servers = {server_of(10, 100, 200), server_of(10, 50, 150)};
  episode.day = &day;
  episode.expected_cores = {1, 2};
  episode.expected_demand = {0.5};
  episode.pods = {{0, 0, 100, 1000}};
  episode.end_s = 10'000;
  Cluster cluster(episode);
  cluster.advance_to(100);
  const FleetChooser planner;
  const std::vector<std::size_t> both{0, 1};
  const auto regrets_w = rollout_regrets_w(episode, cluster, 0, both, planner, 5000);
  // 970 s awake at 50 W more and a minute idle at 50 W more, over a mean lifetime of 1000 s.
  CHECK(regrets_w[0] == doctest::Approx(50.0 * (970 + 60) / 1000));
  CHECK(regrets_w[1] == 0);
  CHECK(cluster.fleet().nodes[0].pods + cluster.fleet().nodes[1].pods == 0);  // only clones were advanced
}

TEST_CASE("labels are of training fleets, finite, reproducible by seed, and survive a file") {
  LabelOptions options;
  options.episodes = 2;
  options.per_episode = 5;
  options.min_nodes = 4;
  options.max_nodes = 6;
  options.episode.sleep = options.episode.churn = true;
  options.episode.warm_s = 3600;
  options.episode.measure_s = 8 * 3600;
  for (const ClusterModel cluster_model : {ClusterModel::truth, ClusterModel::pods}) {
    options.episode.cluster_model = cluster_model;
    const auto labels = collect_labels(data(), options, nullptr);
    CHECK(labels.size() == 10);
    for (const Label& label : labels) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < label.state.nodes; ++i) {
        if (std::isnan(label.regret[i])) continue;
        CHECK(label.state.valid[i] == 1);
        CHECK(std::isfinite(label.regret[i]));
        least = std::min(least, static_cast<double>(label.regret[i]));
      }
      CHECK(least == 0);  // the best of those tried
    }
    const auto again = parse_labels(to_tensors(collect_labels(data(), options, nullptr)), "again");
    REQUIRE(again);
    REQUIRE(again->size() == labels.size());
    for (std::size_t k = 0; k < labels.size(); ++k) {
      CHECK((*again)[k].state.node == labels[k].state.node);
      CHECK((*again)[k].state.pod == labels[k].state.pod);
      CHECK((*again)[k].state.valid == labels[k].state.valid);
    }
  }
}

TEST_CASE("a damaged file of labels is refused") {
  models::Weights tensors = to_tensors({});
  CHECK(parse_labels(tensors, "empty").value().empty());
  tensors["nodes"].values = {2};
  CHECK(parse_labels(tensors, "short").error().code == Errc::malformed);
  tensors["nodes"].values = {std::numeric_limits<float>::quiet_NaN()};
  CHECK(parse_labels(tensors, "odd").error().code == Errc::malformed);
  tensors.erase("prior");
  CHECK(parse_labels(tensors, "less").error().code == Errc::malformed);
}

}  // namespace
}  // namespace wattle::sim::consolidation
