// imitate: labels become targets, and networks are trained on them and promoted by them.
#include "sim/improve/imitate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/bench/bench.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/world/random.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

std::vector<Label> varied_labels(std::size_t count) {
  Random random(5);
  std::vector<Label> labels(count);
  for (Label& label : labels) {
    label.state.nodes = 4;
    for (std::size_t i = 0; i < 4 * models::kNodeFeatures; ++i)
      label.state.node.push_back(i % models::kNodeFeatures == 3 ? 0.5F : static_cast<float>(uniform(random)));
    for (float& value : label.state.pod) value = static_cast<float>(uniform(random));
    for (float& value : label.state.context) value = static_cast<float>(uniform(random));
    label.state.pod[0] = 0.25F;
    label.state.prior.assign(4, 0.0F);
    label.state.valid.assign(4, 1);
    label.regret.assign(4, 0.0F);
  }
  return labels;
}

models::Weights random_weights() {
  models::Weights weights = models::initial_weights(2);
  Random random(6);
  for (const char* name : {"advantage.out.weight", "value.out.weight"})
    for (float& value : weights.at(name).values) value = static_cast<float>(uniform(random) - 0.5);
  return weights;
}

TEST_CASE("an input that is constant in the labels is ignored, and output on the labels does not change") {
  const std::vector<Label> labels = varied_labels(20);
  const models::Weights before = random_weights();
  models::Weights after = before;
  silence_constant_inputs(after, labels);
  const auto loud = models::FrozenNetwork::from_weights(before, 0, "before").value();
  const auto quiet = models::FrozenNetwork::from_weights(after, 0, "after").value();
  std::vector<float> a(4), b(4), c(4);
  for (const Label& label : labels) {
    loud->residual(label.state, a);
    quiet->residual(label.state, b);
    for (std::size_t i = 0; i < 4; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
    models::Observation elsewhere = label.state;
    elsewhere.node[models::kNodeFeatures + 3] = 3;
    elsewhere.pod[0] = -2;
    quiet->residual(elsewhere, c);
    CHECK(c == b);
    elsewhere.node[models::kNodeFeatures + 4] += 3;  // a varied input has an effect
    quiet->residual(elsewhere, c);
    CHECK(c != b);
  }
}

TEST_CASE("a network trained with plan or lifetime always known is unchanged there, and has zero output without them") {
  constexpr std::size_t kPlanKnown = 10, kLife = 14;
  for (const auto& known_in_all : std::vector<std::pair<bool, bool>>{{true, false}, {false, true}, {true, true}}) {
    const bool plan = known_in_all.first, life = known_in_all.second;
    CAPTURE(plan);
    CAPTURE(life);
    std::vector<Label> labels = varied_labels(20);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      labels[k].state.pod[kPlanKnown] = plan || k > 0 ? 1.0F : 0.0F;
      labels[k].state.pod[kLife] = k == 0 ? (life ? 0.04F : 0.0F) : 0.1F * static_cast<float>(k);
    }
    const Taught taught = taught_by(labels);
    CHECK(taught.plan == plan);
    CHECK(taught.life == life);
    models::Weights open = random_weights();
    reserve_gate(open);
    models::Weights closed = open;
    silence_constant_inputs(closed, labels);
    close_untaught(closed, taught);
    const auto before = models::FrozenNetwork::from_weights(open, 0, "open").value();
    const auto after = models::FrozenNetwork::from_weights(closed, 0, "closed").value();
    std::vector<float> a(4), b(4);
    const std::vector<float> nothing(4, 0.0F);
    for (Label& label : labels) {
      before->residual(label.state, a);
      after->residual(label.state, b);
      for (std::size_t i = 0; i < 4; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
      CHECK(b != nothing);
      const models::Observation known = label.state;
      label.state.pod[kPlanKnown] = 0;
      for (const float other : {known.pod[kLife], 4.0F}) {  // up to the largest lifetime
        label.state.pod[kLife] = other;
        after->residual(label.state, b);
        CHECK((b == nothing) == plan);
      }
      label.state = known;
      label.state.pod[kLife] = 0;
      after->residual(label.state, b);
      CHECK((b == nothing) == (life || (plan && label.state.pod[kPlanKnown] == 0.0F)));
    }
  }
  CHECK_FALSE(taught_by({}).plan);
}

TEST_CASE("a network closed beyond the largest trained fleet has zero output there, and is unchanged on smaller ones") {
  constexpr std::size_t kNodes = 5;
  const auto as_feature = [](double nodes) { return static_cast<float>(std::log2(nodes) / 12); };
  std::vector<Label> labels = varied_labels(20);
  for (std::size_t k = 0; k < labels.size(); ++k)
    labels[k].state.context[kNodes] = as_feature(3 + static_cast<double>(k));  // up to 22
  models::Weights open = random_weights();
  models::Weights excited = open;
  std::fill(excited.at("ask.bias").values.begin(), excited.at("ask.bias").values.end(), 100.0F);
  const auto before_excited = excited.at("ask.weight").values;
  CHECK_FALSE(close_beyond_taught_size(excited, labels));
  CHECK(excited.at("ask.weight").values == before_excited);

  open.at("ask.bias").values[7] = -100;  // a unit that no input activates
  models::Weights closed = open;
  REQUIRE(close_beyond_taught_size(closed, labels));
  const auto before = models::FrozenNetwork::from_weights(open, 0, "open").value();
  const auto after = models::FrozenNetwork::from_weights(closed, 0, "closed").value();
  std::vector<float> a(4), b(4);
  for (Label& label : labels) {
    for (const double nodes : {1.0, 10.0, 22.0}) {
      label.state.context[kNodes] = as_feature(nodes);
      before->residual(label.state, a);
      after->residual(label.state, b);
      CHECK(a == b);
      CHECK(b != std::vector<float>(4, 0.0F));
    }
    for (const double nodes : {23.0, 100.0, 5000.0}) {
      label.state.context[kNodes] = as_feature(nodes);
      after->residual(label.state, b);
      CHECK(b == std::vector<float>(4, 0.0F));
    }
  }
}

TEST_CASE("targets fall with regret, omit untried choices, and an anchor pulls them towards its own choice") {
  Label label;
  label.state.nodes = 3;
  label.state.node.assign(3 * models::kNodeFeatures, 0.0F);
  label.state.prior = {0.0F, -1.0F, -1.0F};
  label.state.valid = {1, 1, 1};
  label.regret = {0.3F, 0.0F, std::nanf("")};
  ImitateOptions options;
  const models::PolicyExample free = example_of(label, options);
  CHECK(free.tried == std::vector<std::uint8_t>{1, 1, 0});
  CHECK(static_cast<double>(free.target[1] / free.target[0]) == doctest::Approx(std::exp(0.3 / 0.15)));
  CHECK(free.target[2] == 0.0F);
  CHECK(free.cost.empty());
  options.regret_weight = 0.5;
  CHECK(example_of(label, options).cost == std::vector<float>{1.0F, 0.0F, 0.0F});
  options.anchor_share = 0.5;
  const models::PolicyExample anchored = example_of(label, options);
  CHECK(anchored.target[0] > 0.5F);
  CHECK(mean_regret(std::vector<Label>{label}, nullptr) == doctest::Approx(0.3));
}

// The only weight is the number of steps.
class Counting final : public models::PolicyTrainer {
 public:
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const>, double) override {
    models::PolicyStats stats;
    stats.step = ++steps_;
    return stats;
  }
  Result<models::StepStats> step(std::span<const models::Transition* const>) override { return models::StepStats{}; }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return {{"steps", {{1}, {static_cast<float>(steps_)}}}}; }
  models::Weights checkpoint() const override { return weights(); }
  Status restore(const models::Weights&) override { return {}; }

 private:
  std::uint64_t steps_ = 0;
};

TEST_CASE("averaged weights are the mean of every eighth step in the last half, otherwise those of the last step") {
  Label label;
  label.state.nodes = 2;
  label.state.prior = {0.0F, -1.0F};
  label.state.valid = {1, 1};
  label.regret = {0.3F, 0.0F};
  const std::vector<Label> labels(70, label);
  ImitateOptions options;
  options.epochs = 20;
  options.batch = 32;  // three steps per pass
  Counting last, averaged, few;
  CHECK(imitate(labels, options, last)->weights.at("steps").values == std::vector<float>{60});
  options.average = true;
  CHECK(imitate(labels, options, averaged)->weights.at("steps").values == std::vector<float>{(32 + 40 + 48 + 56) / 4});
  options.epochs = 1;
  CHECK(imitate(labels, options, few)->weights.at("steps").values == std::vector<float>{3});
}

// Prefers the second node, or the first.
class Fixed final : public models::QNetwork {
 public:
  explicit Fixed(float second) : second_(second) {}
  void residual(const models::Observation& observation, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    if (observation.nodes > 1) out[1] = second_;
  }
  std::uint64_t step() const override { return 1; }

 private:
  float second_;
};

TEST_CASE("a network is better than the planner only with statistical certainty on held-out labels") {
  Random random(5);
  const auto draw = [&](double gain) {
    std::vector<Label> labels(200);
    for (Label& label : labels) {
      label.state.nodes = 2;
      label.state.prior = {0.0F, -0.2F};
      label.state.valid = {1, 1};
      const double second = gain + normal(random);  // advantage of the second node
      label.regret = {static_cast<float>(std::max(0.0, second)), static_cast<float>(std::max(0.0, -second))};
    }
    return labels;
  };
  const Fixed second(1), first(0);
  const auto over_planner = [&](double gain, const models::QNetwork& network) {
    const auto labels = draw(gain);
    return paired_difference(regrets_of(labels, &network), regrets_of(labels, nullptr));
  };
  CHECK(over_planner(1, second).below_zero());
  CHECK_FALSE(over_planner(-1, second).below_zero());  // then the planner is right
  CHECK_FALSE(over_planner(0, second).below_zero());   // noise
  CHECK_FALSE(over_planner(1, first).below_zero());    // the planner's own choice
}

TEST_CASE("the rule dqn is on the bench, and untrained it uses the planner's energy") {
  BenchOptions options;
  options.nodes = {5};
  options.seeds = 2;
  options.first_seed = 5;
  options.moves_per_pod = 0;
  options.rules = {"planner", "dqn"};
  options.episode.sleep = true;
  CHECK(bench(data(), options).error().code == Errc::not_found);
  options.network = models::FrozenNetwork::from_weights(models::initial_weights(1), 0).value();
  for (const bool churn : {false, true}) {
    options.episode.churn = churn;
    options.episode.warm_s = options.episode.measure_s = 3600;
    options.episode.life_s = 1200;
    const BenchResult result = bench(data(), options).value();
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(result.tables[0].rules[1].runs[k].energy_j == result.tables[0].rules[0].runs[k].energy_j);
    CHECK(result.tables[0].rules[1].over_planner->mean == 0);
  }
}

}  // namespace
}  // namespace wattle::sim::consolidation
