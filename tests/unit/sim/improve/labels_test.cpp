// rollout, labels: choices are judged by what follows, and what was judged survives a file.
#include "sim/improve/imitate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/worth/features.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

TEST_CASE("under churn the regret of a choice is the energy it adds until the horizon, by hand") {
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
  // 970 s awake at 50 W more, and a minute of idling at 50 W more; over a mean life of 1000 s.
  CHECK(regrets_w[0] == doctest::Approx(50.0 * (970 + 60) / 1000));
  CHECK(regrets_w[1] == 0);
  CHECK(cluster.fleet().nodes[0].pods + cluster.fleet().nodes[1].pods == 0);  // only clones went on
}

TEST_CASE("of a fill the regret is the watts it adds, over the numbers of pods that may come") {
  const PodDay day = steady_day({0.5F});
  Episode episode;
  episode.options.sleep = true;
  episode.servers = {server_of(2, 100, 200), server_of(2, 50, 150)};
  episode.day = &day;
  episode.expected_cores = {1, 1};
  episode.expected_demand = {0.5};
  const double forever_s = std::numeric_limits<double>::infinity();
  episode.pods = {{0, 0, 0, forever_s}};
  episode.end_s = 10'000;
  Cluster cluster(episode);
  cluster.advance_to(0);
  const FleetChooser planner;
  const std::vector<std::size_t> both{1, 0};
  const auto regrets_w = rollout_regrets_w(episode, cluster, 0, both, planner, 0);
  CHECK(regrets_w[0] == 0);
  CHECK(regrets_w[1] == doctest::Approx(50));
}

TEST_CASE("labels are of training fleets, finite, the same for the same seed, and survive a file") {
  LabelOptions options;
  options.episodes = 2;
  options.per_episode = 5;
  options.min_nodes = 4;
  options.max_nodes = 6;
  options.episode.sleep = true;
  for (const bool churn : {false, true}) {
    for (const ClusterModel cluster_model : {ClusterModel::truth, ClusterModel::imitated, ClusterModel::pods}) {
      options.episode.churn = churn;
      options.episode.cluster_model = cluster_model;
      options.episode.warm_s = 3600;
      options.episode.measure_s = 8 * 3600;
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
}

// The most of each of the inputs that tell how wrong what is told has been, and of what the pod adds in waiting.
struct MostReported {
  double curve_error = 0, use_unsure = 0, wait_added = 0, wait_error = 0, demand_error = 0, forecast_error = 0;
};
MostReported most_reported(std::span<const Label> labels) {
  REQUIRE(placement::kNodeFeatureSpecs[32].name == "curve_error");
  MostReported most;
  const auto raise = [](double& to, float value) { to = std::max(to, static_cast<double>(value)); };
  for (const Label& label : labels) {
    for (std::size_t i = 0; i < label.state.nodes; ++i) {
      const float* node = &label.state.node[i * models::kNodeFeatures];
      raise(most.curve_error, node[32]);
      raise(most.use_unsure, node[33]);
      raise(most.wait_added, node[34]);
      raise(most.wait_error, node[35]);
    }
    raise(most.demand_error, label.state.pod[16]);
    raise(most.forecast_error, label.state.context[8]);
  }
  return most;
}

TEST_CASE(
    "labels of live knowledge have its errors, and the price of waiting where pods are crowded; an oracle's are 0") {
  LabelOptions options;
  options.episodes = 2;
  options.per_episode = 6;
  options.min_nodes = options.max_nodes = 5;
  options.episode.sleep = options.episode.churn = true;
  options.episode.warm_s = 3600;
  options.episode.measure_s = 8 * 3600;
  const MostReported oracle = most_reported(collect_labels(data(), options, nullptr));
  CHECK(oracle.curve_error + oracle.use_unsure + oracle.wait_added == 0);
  CHECK(oracle.wait_error + oracle.demand_error + oracle.forecast_error == 0);

  options.episode.cluster_model = ClusterModel::imitated;
  const MostReported plain = most_reported(collect_labels(data(), options, nullptr));
  CHECK(plain.curve_error > 0);
  CHECK(plain.demand_error > 0);
  CHECK(plain.use_unsure + plain.wait_added + plain.wait_error + plain.forecast_error == 0);

  options.episode.learns_waiting = true;
  options.episode.crowded = true;
  options.episode.sizes = Sizes::openb;
  options.episode.churn_fill = 0.9;
  options.episode.crowded_ratio = 0.5;
  options.episode.shift.odd_watts = 2;
  options.episode.shift.odd_waiting = 2;
  const auto labels = collect_labels(data(), options, nullptr);
  CHECK(labels.size() == 12);
  const MostReported live = most_reported(labels);
  CHECK(live.curve_error > plain.curve_error);
  CHECK(live.use_unsure > 0);
  CHECK(live.wait_added > 0);
  CHECK(live.wait_error > 0);
  CHECK(live.demand_error > 0);
  for (const Label& label : labels)
    for (const float regret : label.regret) CHECK((std::isnan(regret) || std::isfinite(regret)));
  CHECK(to_tensors(labels).at("regret").values ==
        to_tensors(collect_labels(data(), options, nullptr)).at("regret").values);
}

TEST_CASE("what pods wait counts in the regret of a choice, at the price of waiting") {
  const PodDay day = steady_day({4});
  Episode episode;
  episode.options.churn = true;
  episode.options.cluster_model = ClusterModel::imitated;
  episode.options.crowded_ratio = 0.5;
  episode.options.learns_waiting = true;
  episode.options.life_s = 1000;
  episode.servers = {server_of(6, 100, 200), server_of(6, 100, 200)};
  episode.day = &day;
  episode.expected_cores = {1, 2};
  episode.pods = {{0, 0, 100, 5000}, {0, 0, 1000, 1000}};
  episode.end_s = 10'000;
  Cluster cluster(episode);
  cluster.advance_to(100);
  cluster.place(0, 0);
  cluster.advance_to(1000);
  const double price_w = cluster.fleet().cpu_wait_price_w;
  REQUIRE(price_w > 0);
  const FleetChooser planner;
  const std::vector<std::size_t> both{0, 1};
  const auto regrets_w = rollout_regrets_w(episode, cluster, 1, both, planner, 1000);
  // Of 6 cores 8 are wanted for 1000 s, in place of 4 and 4; the watts are linear up to 6 cores.
  const double crowded = std::min(1.0, cluster::pressure_ratio(8, 6, 0.5)), apart = cluster::pressure_ratio(4, 6, 0.5);
  const double waited_core_s = 1000 * (8 * crowded - 2 * 4 * apart);
  const double saved_j = 1000 * 2 * (100.0 / 6);
  const double wanted_w = (price_w * waited_core_s - saved_j) / 1000;
  REQUIRE(std::abs(wanted_w) > 1);
  CHECK(regrets_w[0] - regrets_w[1] == doctest::Approx(wanted_w));
}

// Labels in which node feature 3 is always 0.5, pod feature 0 always 0.25, and the others vary.
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
