// centring: the centre that is subtracted from rewards keeps Q near the prior. A table is really trained.
#include <doctest/doctest.h>

#include <cmath>

#include "placement/learn/learner.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::placement {
namespace {

models::Observation two_nodes() {
  models::Observation seen;
  seen.nodes = 2;
  seen.node.assign(2 * models::kNodeFeatures, 0.0F);
  // The two nodes are in different cells of the table.
  for (std::size_t feature = 0; feature < models::kNodeFeatures; ++feature) seen.node[feature] = 0.95F;
  seen.prior.assign(2, 0.0F);
  seen.valid.assign(2, 1);
  return seen;
}

RewardConfig lb() {
  RewardConfig config;
  config.preset = Preset::lb;
  return config;
}

// By `lb` 10 on a node without pods, 0 on others, and never the end of an episode.
RawOutcome outcome(bool empty) {
  std::vector<WorkerBefore> workers(3);
  workers[0].pods = empty ? 0 : 2;
  workers[1].pods = 0;
  workers[2].pods = 5;
  RawOutcome raw;
  raw.before = summed(workers, 0);
  return raw;
}

struct Lived {
  std::unique_ptr<models::QTrainer> trainer = make_tabular_trainer();
  Learner learner;
  std::uint64_t id = 0;

  explicit Lived(std::optional<double> centre, RewardConfig reward = lb())
      : learner(
            [&] {
              LearnerOptions options;
              options.warmup = 32;
              options.tau_s = 100;  // a hundred placements
              options.reward_centre = centre;
              return options;
            }(),
            reward, *trainer) {}
  // Places a pod a second, alternately on the two nodes. The first has reward 10 and the other 0.
  void live(int pods) {
    for (int i = 0; i < pods; ++i) {
      const std::uint32_t row = ++id % 2 == 0 ? 1 : 0;
      learner.placed(id, two_nodes(), row, MonoTime(from_seconds(static_cast<double>(id))));
      REQUIRE(learner.settled(id, outcome(row == 0)));
      REQUIRE(learner.step());
    }
  }
  std::vector<float> q() const {
    std::vector<float> out(2, 0.0F);
    const auto network = network_of(trainer->weights(), 0, "table");
    REQUIRE(network);
    (*network)->residual(two_nodes(), out);
    return out;
  }
};

TEST_CASE("with centred rewards Q does not grow to the sum of future rewards, and differences between nodes stay") {
  Lived centred({}), plain(0.0);
  centred.live(3000);
  plain.live(3000);
  const auto own = centred.q(), climbed = plain.q();
  CHECK(climbed[0] > 150);  // 5 per pod on average, over a hundred pods
  CHECK(std::abs(own[0]) < 40);
  CHECK(own[0] - own[1] > 3);
  CHECK(own[0] - own[1] == doctest::Approx(climbed[0] - climbed[1]).epsilon(0.3));
  CHECK(std::abs(centred.learner.figures().mean_q) < 40);
  CHECK(plain.learner.figures().centre == 0);
}

TEST_CASE("the loss is in standard deviations of the reward, so it does not depend on the unit of rewards") {
  // Another scale makes the reward ten times as large.
  const auto loss = [](double scale) {
    const auto trainer = make_tabular_trainer();
    LearnerOptions options;
    options.warmup = 32;
    options.tau_s = 100;
    options.reward_scale = scale;
    Learner learner(options, lb(), *trainer);
    for (std::uint64_t id = 1; id < 1000; ++id) {
      const std::uint32_t row = id % 2 == 0 ? 1 : 0;
      learner.placed(id, two_nodes(), row, MonoTime(from_seconds(static_cast<double>(id))));
      REQUIRE(learner.settled(id, outcome(row == 0)));
      REQUIRE(learner.step());
    }
    return learner.figures().loss;
  };
  CHECK(loss(1) == doctest::Approx(loss(10)).epsilon(0.02));
  CHECK(loss(1) < 2);
}

// A single value for all states. Each step moves it towards its targets and also pushes it down.
class Pushed final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    models::StepStats stats;
    stats.step = ++steps_;
    stats.mean_q = q_;
    for (const models::Transition* each : batch) {
      const double error = static_cast<double>(each->reward) + static_cast<double>(each->discount) * q_ - q_;
      stats.mean_error += error / static_cast<double>(batch.size());
    }
    q_ += 0.05 * stats.mean_error - 0.02;
    return stats;
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return {}; }
  models::Weights checkpoint() const override { return {}; }
  Status restore(const models::Weights&) override { return {}; }
  double q() const { return q_; }

 private:
  std::uint64_t steps_ = 0;
  double q_ = 0;
};

TEST_CASE("Q and the centre stay bounded although a force outside the loss pushes the network") {
  Pushed trainer;
  LearnerOptions options;
  options.warmup = 32;
  options.tau_s = 100;
  Learner learner(options, lb(), trainer);
  for (std::uint64_t id = 1; id < 20'000; ++id) {
    learner.placed(id, two_nodes(), id % 2 == 0 ? 1 : 0, MonoTime(from_seconds(static_cast<double>(id))));
    REQUIRE(learner.settled(id, outcome(id % 2 == 1)));
    REQUIRE(learner.step());
  }
  CHECK(std::abs(trainer.q()) < 30);
  CHECK(std::abs(learner.figures().centre - 5) < 2);
}

TEST_CASE("another reward starts another centre, and a restart keeps the current one") {
  Lived lived({});
  lived.live(500);
  const double centre = lived.learner.figures().centre;
  CHECK(std::isfinite(centre));
  const models::Weights saved = lived.learner.save();
  LearnerOptions options;
  options.warmup = 32;
  options.tau_s = 100;
  const auto trainer = make_tabular_trainer();
  REQUIRE(trainer->restore(lived.trainer->checkpoint()));
  Learner again(options, lb(), *trainer);
  REQUIRE(again.restore(saved));
  REQUIRE(again.step());
  CHECK(again.figures().centre == doctest::Approx(centre).epsilon(0.05));

  models::Weights torn = saved;
  torn["replay/centring"].values.resize(3);
  torn["replay/centring"].shape = {1, 3};
  const Status refused = again.restore(torn);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("replay/centring") != std::string::npos);
  models::Weights missing = saved;
  missing.erase("replay/centring");
  CHECK_FALSE(again.restore(missing));
}

}  // namespace
}  // namespace wattle::placement
