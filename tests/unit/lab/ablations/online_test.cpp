// online: what the trainer is shown of a cluster that runs.
#include "lab/ablations/online.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

// Learns nothing, checks what it is shown.
class Watcher final : public models::PolicyTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    for (const models::Transition* each : batch) {
      CHECK(each->state.valid[each->action] == 1);
      CHECK(std::isfinite(each->reward));
      CHECK(static_cast<double>(each->discount) >= 0);
      CHECK(static_cast<double>(each->discount) < 1);
      if (each->discount > 0) CHECK(each->next.nodes == each->state.nodes);
      rewards += static_cast<double>(each->reward);
      ++seen;
    }
    models::StepStats stats;
    stats.step = ++steps_;
    return stats;
  }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch, double) override {
    for (const models::PolicyExample* each : batch) {
      double sum = 0;
      for (std::size_t i = 0; i < each->state.nodes; ++i) sum += static_cast<double>(each->target[i]);
      CHECK(sum == doctest::Approx(1).epsilon(1e-4));
      CHECK(each->tried == each->state.valid);
    }
    ++anchored;
    return models::PolicyStats{};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return models::initial_weights(1); }
  models::Weights checkpoint() const override { return weights(); }
  Status restore(const models::Weights&) override { return {}; }

  double rewards = 0;
  std::size_t seen = 0, anchored = 0;

 private:
  std::uint64_t steps_ = 0;
};

OnlineOptions small_online() {
  OnlineOptions options;
  options.episode.side = Side::train;
  options.episode.nodes = 4;
  options.episode.churn = true;
  options.episode.sleep = true;
  options.episode.warm_s = 0;
  options.episode.measure_s = 3 * 3600;
  options.episodes = 2;
  options.episode.cluster_model = ClusterModel::production;
  options.learner.warmup = 40;
  options.learner.batch = 8;
  return options;
}

TEST_CASE("online learning shows valid placements with bounded rewards, and the same ones for the same seed") {
  const OnlineOptions options = small_online();
  Watcher one, two;
  const auto figures = learn_online(data(), options, one);
  REQUIRE(figures);
  REQUIRE(learn_online(data(), options, two));
  CHECK(figures->placed > 100);
  CHECK(figures->settled > figures->placed / 2);
  CHECK(figures->steps == one.steps());
  // Watts against those of the nodes that the pod could have gone to: a few of a reference's at most, and hardly ever none.
  CHECK(figures->mean_reward != 0);
  CHECK(std::abs(figures->mean_reward) < 5);
  CHECK(one.seen > 100);
  CHECK(one.anchored == 0);
  CHECK(one.rewards == two.rewards);
}

TEST_CASE(
    "an anchored learner is shown the anchor's choice after every step; without churn there is nothing to learn from") {
  OnlineOptions options = small_online();
  options.anchor = models::FrozenNetwork::from_weights(models::initial_weights(1), 0).value();
  Watcher watcher;
  REQUIRE(learn_online(data(), options, watcher));
  CHECK(watcher.anchored == watcher.steps());
  options.episode.cluster_model = ClusterModel::truth;
  CHECK(learn_online(data(), options, watcher).error().fix.find("production") != std::string::npos);
  options.episode.churn = false;
  CHECK(learn_online(data(), options, watcher).error().code == Errc::out_of_range);
}

}  // namespace
}  // namespace wattle::sim::consolidation
