// A fake network stands behind the seam: these run without libtorch.
#include "controller/trainer/trainer.hpp"

#include <doctest/doctest.h>

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
