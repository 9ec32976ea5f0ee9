#include "lab/ablations/online.hpp"

#include <utility>
#include <vector>

#include "lab/bench/live_run.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/policy_anchor.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

// Time between the days of one chain, so long that no value is bootstrapped across.
constexpr double kBetweenDays_s = 1e7;

placement::RewardConfig watts() {
  placement::RewardConfig reward;
  reward.weights = {1, 0, 0, 0, 0, 0, 0};
  return reward;
}

placement::LearnerOptions seeded(placement::LearnerOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

class Online final : public LivePlayer {
 public:
  Online(const OnlineOptions& options, models::PolicyTrainer& trainer)
      : options_(options),
        trainer_(trainer),
        learner_(seeded(options.learner, options.first_seed), watts(), trainer),
        random_(mix(options.first_seed, 0x6f6e6c696e65ULL)),
        ties_(mix(options.first_seed, 0x74696573ULL)) {}

  Status live(const Episode& day) {
    placement::ClusterModelOptions about;
    about.idle_nodes_sleep = day.options.sleep;
    placement::ClusterModel cluster_model(about);
    if (!known_.empty()) WATTLE_CHECK(cluster_model.restore(known_));
    LiveEngineOptions live;
    live.engine.decide.reward = watts();
    WATTLE_TRY(engine_, LiveEngine::make(std::move(live), std::move(cluster_model)));
    WATTLE_TRY(LivePlayed played, play_live(day, *this, watts(), {}));
    if (options_.episode.cluster_seed) known_ = std::move(played.known);
    first_id_ += day.pods.size() + 1;
    began_s_ += kBetweenDays_s;
    return {};
  }
  const placement::LearnerFigures& figures() const { return learner_.figures(); }

  WorldObserver* observer() override { return engine_.get(); }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }
  Status settled(std::vector<Settled> outcomes) override {
    for (Settled& each : outcomes) {
      auto reward = learner_.settled(first_id_ + each.decision_id, std::move(each.outcome));
      if (!reward && reward.error().code != Errc::not_found) return forward_error(reward);  // not found: it expired
    }
    return {};
  }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t decision_id) override {
    const MonoTime when = world.now() + from_seconds(began_s_);
    learner_.expire(when);
    if (!network_ || trainer_.steps() >= frozen_at_ + options_.refresh_every) {
      frozen_at_ = trainer_.steps();
      WATTLE_TRY(network_, models::FrozenNetwork::from_weights(trainer_.weights(), frozen_at_));
    }
    placement::PlacementDecision advice = engine_->decide(view, pod.spec, network_.get(), options_.epsilon, random_);
    const auto node = bind_node(world.kube_nodes(), kube_pod(pod.spec.request), advice.scores, {}, view, ties_);
    if (!node) return node;
    learner_.placed(first_id_ + decision_id, std::move(advice.observation),
                    static_cast<std::uint32_t>(advice.row_of[*node]), when);
    WATTLE_TRY(const auto stepped, learner_.step());
    if (stepped && options_.anchor && stepped->step % options_.anchor_every == 0) WATTLE_CHECK(hold_to_anchor());
    return node;
  }

 private:
  Status hold_to_anchor() {
    const std::vector<models::PolicyExample> examples =
        models::policy_anchor(*options_.anchor, learner_.last_batch(), options_.temperature);
    std::vector<const models::PolicyExample*> pointers;
    pointers.reserve(examples.size());
    for (const models::PolicyExample& each : examples) pointers.push_back(&each);
    if (pointers.empty()) return {};
    WATTLE_TRY([[maybe_unused]] const auto stats, trainer_.imitate(pointers, options_.temperature));
    return {};
  }

  const OnlineOptions& options_;
  models::PolicyTrainer& trainer_;
  placement::Learner learner_;
  Random random_, ties_;
  std::unique_ptr<LiveEngine> engine_;
  std::string known_;
  std::uint64_t first_id_ = 0, frozen_at_ = 0;
  double began_s_ = 0;
  std::shared_ptr<const models::FrozenNetwork> network_;
};

}  // namespace

Result<placement::LearnerFigures> learn_online(const Dataset& data, const OnlineOptions& options,
                                               models::PolicyTrainer& trainer) {
  if (!options.episode.churn)
    return fail(Errc::out_of_range, "online learning", "needs pods that come and go", "consolidation_churn");
  if (options.episode.cluster_model != ClusterModel::production)
    return fail(Errc::out_of_range, "online learning", "needs a controller, which has no true values",
                "--knowledge production");
  Online online(options, trainer);
  for (std::size_t e = 0; e < options.episodes; ++e)
    WATTLE_CHECK(online.live(make_episode(data, options.episode, options.first_seed + options.seed_step * e)));
  return online.figures();
}

}  // namespace wattle::sim::consolidation
