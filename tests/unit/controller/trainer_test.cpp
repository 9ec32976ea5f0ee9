// A fake network stands behind the seam: these run without libtorch.
#include "controller/trainer/trainer.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <limits>

#include "models/frozen/layout.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

class CountingNetwork final : public models::QTrainer {
 public:
  explicit CountingNetwork(float poison = 0) : weights_(models::initial_weights(1)) {
    if (poison != 0) weights_.at("value.out.bias").values[0] = poison;
  }
  Result<models::StepStats> step(std::span<const models::Transition* const>) override {
    ++steps_;
    return models::StepStats{0.5, 0, 0, 0, steps_};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override { return weights_; }
  Status restore(const models::Weights& saved) override {
    weights_ = saved;
    return {};
  }

 private:
  models::Weights weights_;
  std::uint64_t steps_ = 0;
};

std::deque<models::Observation> one_observation() {
  models::Observation observation;
  observation.nodes = 2;
  observation.node.assign(2 * models::kNodeFeatures, 0.5F);
  observation.prior = {0, 0};
  observation.valid = {1, 1};
  return {observation};
}

}  // namespace

TEST_CASE("a network that is finite and bounded on recent decisions may serve") {
  const auto frozen = freeze_checked(CountingNetwork(), 10, one_observation());
  REQUIRE(frozen);
  CHECK((*frozen)->step() == 0);
}

TEST_CASE("a network that says too much, or is not finite, does not serve") {
  const auto loud = freeze_checked(CountingNetwork(50), 10, one_observation());
  REQUIRE(!loud);
  CHECK(loud.error().code == Errc::out_of_range);
  CHECK(!freeze_checked(CountingNetwork(std::numeric_limits<float>::quiet_NaN()), 10, one_observation()));
}

TEST_CASE("a trainer without a thread learns in turns, a step for each period that the clock has moved on") {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-turns-XXXXXX").string();
  REQUIRE(mkdtemp(path.data()) != nullptr);
  ManualClock clock;
  const Log log = Log::silent();
  ServingModel slot;
  LearnConfig config;
  config.warmup = 1;
  config.n_step = 1;
  config.batch = 2;
  config.steps_per_s = 50;
  {
    const auto trainer = Trainer::make(config, {}, path, std::make_unique<CountingNetwork>(), slot, clock, log);
    REQUIRE(trainer);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      (*trainer)->post(PlacedNews{id, one_observation().front(), 0, clock.mono()});
      (*trainer)->post(SettledNews{id, {}});
      clock.advance(std::chrono::seconds(1));
    }
    CHECK((*trainer)->figures().placed == 0);  // nothing happens between turns
    (*trainer)->turn();
    CHECK((*trainer)->figures().settled == 3);
    CHECK((*trainer)->figures().steps == 1);
    (*trainer)->turn();
    CHECK((*trainer)->figures().steps == 1);
    for (int i = 0; i < 10; ++i) {
      clock.advance(std::chrono::milliseconds(20));
      (*trainer)->turn();
    }
    CHECK((*trainer)->figures().steps == 11);
    // Then what came has been learned from often enough, until more comes.
    for (int i = 0; i < 100; ++i) {
      clock.advance(std::chrono::seconds(1));
      (*trainer)->turn();
    }
    CHECK((*trainer)->figures().steps == 48);
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

TEST_CASE(
    "what was learned before a restart takes no steps away: outcomes from then on are learned from as often as "
    "others") {
  ReplayBudget budget;
  budget.heard(1000);  // as a checkpoint has it, however many steps it has beside
  CHECK(budget.empty());
  budget.heard(1002);
  std::uint64_t drawn = 0;
  for (; !budget.empty(); drawn += 16) budget.drawn(16);
  CHECK(drawn == 2 * ReplayBudget::kRatio);
  budget.heard(0);  // a learner that began anew
  CHECK(budget.empty());
  budget.heard(1);
  CHECK_FALSE(budget.empty());
}
