#include "lab/ablations/ablate.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/worth/features.hpp"

namespace wattle::sim {

namespace {

const std::array<LoopVariant, 7> kVariants{{
    {"whole", "one step, horizon of 4 decisions, all experience, features of what is in flight"},
    {"n-step 3", "", 4, 3},
    {"n-step 10", "", 4, 10},
    {"horizon 1", "discount: a reward counts 1/e after one decision", 1},
    {"horizon 20", "", 20},
    {"newest 500", "replay of the newest 500 decisions alone", 4, 1, 500},
    {"no in-flight", "what is on its way to a node is not heard", 4, 1, 50'000, {"in_flight", "cpu_coming"}},
}};
const LoopVariant kPretrained{"pretrained", "from the given network", 4, 1, 50'000, {}, true};

class Deaf final : public models::QTrainer {
 public:
  Deaf(std::unique_ptr<models::QTrainer> trainer, std::vector<std::size_t> silent)
      : trainer_(std::move(trainer)), silent_(std::move(silent)) {}
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    std::vector<models::Transition> copies;
    copies.reserve(batch.size());
    std::vector<const models::Transition*> pointers;
    for (const models::Transition* each : batch) {
      copies.push_back(*each);
      silence(copies.back().state);
      silence(copies.back().next);
    }
    pointers.reserve(copies.size());
    for (const models::Transition& each : copies) pointers.push_back(&each);
    return trainer_->step(pointers);
  }
  std::uint64_t steps() const override { return trainer_->steps(); }
  models::Weights weights() const override { return trainer_->weights(); }
  models::Weights checkpoint() const override { return trainer_->checkpoint(); }
  Status restore(const models::Weights& checkpoint) override { return trainer_->restore(checkpoint); }

 private:
  void silence(models::Observation& state) const {
    for (const std::size_t feature : silent_)
      for (std::size_t i = 0; i < state.nodes; ++i) state.node[i * models::kNodeFeatures + feature] = 0;
  }
  std::unique_ptr<models::QTrainer> trainer_;
  std::vector<std::size_t> silent_;
};

Result<std::vector<double>> judge(const AblateLoopOptions& options, const models::Weights& weights) {
  WATTLE_TRY(const auto network, models::FrozenNetwork::from_weights(weights, 0, "variant"));
  const Contestant contestant{"variant", Binding::advised, "dqn", network.get()};
  WATTLE_TRY(const Evaluation evaluation, evaluate(options.env, {contestant}, held_out_seeds(options.judged_on)));
  return evaluation.of("variant").column(&EpisodeFigures::mean_reward);
}

Result<double> train_once(const AblateLoopOptions& options, const LoopVariant& variant, std::size_t k,
                          const MakeTrainer& make) {
  TrainOptions train_options;
  train_options.env = options.env;
  train_options.seed = options.first_seed + k * kSeedsPerRestart;
  train_options.decisions = options.decisions;
  train_options.learner = working_learner_options(options.env, variant.horizon_decisions);
  train_options.learner.n_step = variant.n_step;
  train_options.learner.replay_capacity = variant.replay;
  train_options.learner.warmup = std::min<std::size_t>(train_options.learner.warmup, variant.replay / 2);
  Result<std::unique_ptr<models::QTrainer>> trainer =
      variant.silent.empty()
          ? make(train_options.seed, variant.pretrained ? options.initial : std::optional<models::Weights>())
          : deaf_trainer(make, train_options.seed, variant.silent);
  if (!trainer) return forward_error(trainer);
  WATTLE_TRY(const TrainResult trained, train(train_options, **trainer));
  WATTLE_TRY(const std::vector<double> rewards, judge(options, trained.weights));
  return mean(rewards);
}

}  // namespace

std::span<const LoopVariant> loop_variants() { return kVariants; }

Result<std::unique_ptr<models::QTrainer>> deaf_trainer(const MakeTrainer& make, std::uint64_t seed,
                                                       std::span<const std::string_view> silent) {
  models::Weights initial = models::initial_weights(seed);
  std::vector<std::size_t> features;
  for (const std::string_view name : silent) {
    const auto found = std::find_if(placement::kNodeFeatureSpecs.begin(), placement::kNodeFeatureSpecs.end(),
                                    [&](const auto& spec) { return spec.name == name; });
    assert(found != placement::kNodeFeatureSpecs.end());
    features.push_back(static_cast<std::size_t>(found - placement::kNodeFeatureSpecs.begin()));
    auto& rows = initial.at("node.0.weight").values;
    std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(features.back() * models::kHidden), models::kHidden, 0.0F);
  }
  WATTLE_TRY(auto trainer, make(seed, initial));
  return std::unique_ptr<models::QTrainer>(std::make_unique<Deaf>(std::move(trainer), std::move(features)));
}

Result<std::vector<LoopRow>> ablate(const AblateLoopOptions& options, const MakeTrainer& make,
                                    const std::function<void(std::string_view)>& on_done) {
  WATTLE_TRY(const std::vector<double> untrained, judge(options, models::initial_weights(1)));
  const std::vector<double> initial(options.seeds, mean(untrained));
  std::vector<LoopVariant> wanted(kVariants.begin(), kVariants.end());
  if (options.initial) wanted.push_back(kPretrained);
  std::vector<double> whole;
  std::vector<LoopRow> rows;
  for (const LoopVariant& variant : wanted) {
    std::vector<double> rewards;
    for (std::size_t k = 0; k < options.seeds; ++k) {
      WATTLE_TRY(const double reward, train_once(options, variant, k, make));
      rewards.push_back(reward);
    }
    if (rows.empty()) whole = rewards;
    rows.push_back({variant.name, variant.what, mean(rewards), *std::min_element(rewards.begin(), rewards.end()),
                    *std::max_element(rewards.begin(), rewards.end()), paired_difference(rewards, whole),
                    paired_difference(rewards, initial)});
    if (on_done) on_done(variant.name);
  }
  return rows;
}

}  // namespace wattle::sim
