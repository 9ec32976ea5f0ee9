// The proof of learning, and a test of that test: trained online in the simulated loop, the network must beat its
// initial weights and kube-scheduler's default scoring on held-out seeds; a learner that does not learn, or that learns
// the opposite, must fail the same check.
#include <doctest/doctest.h>

#include <cstdio>

#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/env/train.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr std::uint64_t kDecisions = 6'000;
constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kClusterSeed = 1;
constexpr std::size_t kHeldOut = 10;
constexpr std::size_t kValidation = 10;
constexpr std::uint64_t kRestarts = 3;

EnvOptions proof_environment() {
  EnvOptions options;
  options.scenario = find_scenario("churn_sleep").value();
  options.cluster_seed = kClusterSeed;
  options.reward.weights.contention = 12;  // a higher price of waiting than the budget, which the prior uses
  return options;
}

// Decides and counts as usual, but its weights never change.
class FrozenTrainer final : public models::QTrainer {
 public:
  explicit FrozenTrainer(std::unique_ptr<models::QTrainer> inner) : inner_(std::move(inner)) {}
  Result<models::StepStats> step(std::span<const models::Transition* const>) override { return models::StepStats{}; }
  std::uint64_t steps() const override { return 0; }
  models::Weights weights() const override { return inner_->weights(); }
  models::Weights checkpoint() const override { return inner_->checkpoint(); }
  Status restore(const models::Weights& checkpoint) override { return inner_->restore(checkpoint); }

 private:
  std::unique_ptr<models::QTrainer> inner_;
};

// Learns from negated rewards.
class NegatedTrainer final : public models::QTrainer {
 public:
  explicit NegatedTrainer(std::unique_ptr<models::QTrainer> inner) : inner_(std::move(inner)) {}
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    std::vector<models::Transition> negated;
    for (const models::Transition* each : batch) {
      negated.push_back(*each);
      negated.back().reward = -negated.back().reward;
    }
    std::vector<const models::Transition*> pointers;
    for (const models::Transition& each : negated) pointers.push_back(&each);
    return inner_->step(pointers);
  }
  std::uint64_t steps() const override { return inner_->steps(); }
  models::Weights weights() const override { return inner_->weights(); }
  models::Weights checkpoint() const override { return inner_->checkpoint(); }
  Status restore(const models::Weights& checkpoint) override { return inner_->restore(checkpoint); }

 private:
  std::unique_ptr<models::QTrainer> inner_;
};

struct Proof {
  Interval over_initial, over_default;  // of the mean reward
  bool learned() const { return over_initial.above_zero() && over_default.above_zero(); }
};

// The check that the real learner must pass and the crippled ones must fail.
Proof prove(const std::vector<std::unique_ptr<models::QTrainer>>& trainers, std::uint64_t decisions, const char* what) {
  TrainOptions options;
  options.env = proof_environment();
  options.seed = kSeed;
  options.decisions = decisions;
  options.learner = working_learner_options(options.env, 4);
  options.learner.n_step = 1;
  std::vector<models::QTrainer*> borrowed;
  for (const auto& trainer : trainers) borrowed.push_back(trainer.get());
  // All restarts begin with the prior only: their initial residual is 0.
  const auto initial = models::FrozenNetwork::from_weights(borrowed.front()->weights(), 0).value();
  const auto result = train_best(options, borrowed, kValidation);
  REQUIRE_MESSAGE(result, result.error().message());
  const auto trained = models::FrozenNetwork::from_weights(result->weights, 1).value();
  const auto evaluation = evaluate(options.env,
                                   {{"trained", Binding::advised, "dqn", trained.get()},
                                    {"initial", Binding::advised, "dqn", initial.get()},
                                    {"kube-default", Binding::unadvised}},
                                   seeds_from(kFirstHeldOutSeed, kHeldOut));
  REQUIRE_MESSAGE(evaluation, evaluation.error().message());
  std::printf("%s, %llu decisions\n%s\n", what, static_cast<unsigned long long>(decisions),
              to_table(*evaluation).c_str());
  const auto rewards = [&](const char* name) { return evaluation->of(name).column(&EpisodeFigures::mean_reward); };
  return {paired_difference(rewards("trained"), rewards("initial")),
          paired_difference(rewards("trained"), rewards("kube-default"))};
}

// One learner per restart, each decorated by `wrap`.
template <class Wrap>
std::vector<std::unique_ptr<models::QTrainer>> new_trainers(Wrap wrap) {
  std::vector<std::unique_ptr<models::QTrainer>> trainers;
  for (std::uint64_t i = 0; i < kRestarts; ++i) {
    models::TrainerOptions options;
    options.seed = kSeed + i * kSeedsPerRestart;
    options.huber_delta = 8;  // in deviations of a decision's reward
    trainers.push_back(wrap(models::make_torch_trainer(options).value()));
  }
  return trainers;
}

}  // namespace

TEST_CASE("trained online, the network beats its own initial weights and default scoring on held-out seeds") {
  const Proof proof = prove(new_trainers([](auto inner) { return inner; }), kDecisions, "learner");
  CHECK(proof.over_initial.low > 0);
  CHECK(proof.over_default.low > 0);
  CHECK(proof.learned());
}

TEST_CASE("with the learner frozen the same check fails") {
  const auto trainers = new_trainers([](auto inner) { return std::make_unique<FrozenTrainer>(std::move(inner)); });
  CHECK_FALSE(prove(trainers, kDecisions / 10, "frozen learner").learned());
}

TEST_CASE("with the reward negated the same check fails") {
  const auto trainers = new_trainers([](auto inner) { return std::make_unique<NegatedTrainer>(std::move(inner)); });
  CHECK_FALSE(prove(trainers, kDecisions / 2, "negated reward").learned());
}
