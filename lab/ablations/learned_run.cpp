#include "lab/ablations/learned_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

placement::LearnerOptions of_seed(placement::LearnerOptions learner, std::uint64_t seed) {
  learner.seed = seed;
  return learner;
}

class LearnedPlayer final : public LivePlayer {
 public:
  LearnedPlayer(const Episode& episode, const LearnedRunOptions& options, models::QTrainer& trainer,
                std::unique_ptr<LiveEngine> engine)
      : options_(options),
        trainer_(trainer),
        learner_(of_seed(options.learner, episode.seed), options.reward, trainer),
        random_(mix(episode.seed, 0x6c6561726eULL)),
        ties_(mix(episode.seed, 0x74696573ULL)),
        engine_(std::move(engine)) {}

  WorldObserver* observer() override { return engine_.get(); }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }

  Status settled(std::vector<Settled> outcomes) override {
    for (Settled& each : outcomes) {
      auto reward = learner_.settled(each.decision_id, std::move(each.outcome));
      if (reward)
        to_draw_ += options_.draws;
      else if (reward.error().code != Errc::not_found)
        return forward_error(reward);
    }
    while (to_draw_ >= static_cast<double>(options_.learner.batch)) {
      WATTLE_TRY(const auto stepped, learner_.step());
      if (!stepped) return {};
      to_draw_ -= static_cast<double>(options_.learner.batch);
    }
    return {};
  }

  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t decision_id) override {
    learner_.expire(world.now());
    if (trainer_.steps() >= frozen_at_ + options_.refresh_every) {
      frozen_at_ = trainer_.steps();
      WATTLE_TRY(auto frozen, models::FrozenNetwork::from_weights(trainer_.weights(), frozen_at_));
      learned_ = std::move(frozen);
      engine_->set_learned(learned_.get());
    }
    placement::PlacementDecision advice = engine_->decide(view, pod.spec, options_.shipped.get(), 0, random_);
    ++decisions_[static_cast<std::size_t>(engine_->engine().trials().serves())];
    const auto node =
        select_node(world.kube_nodes(), kube_pod(pod.spec.request), advice.scores, kExtenderWeight, ties_);
    if (!node) return node;
    learner_.placed(decision_id, std::move(advice.observation), static_cast<std::uint32_t>(advice.row_of[*node]),
                    world.now());
    return node;
  }

  LearnedRun figures(RunFigures run) const {
    const placement::DecisionEngine& engine = engine_->engine();
    constexpr auto kLearned = placement::Candidate::learned;
    return {std::move(run), learner_.figures(), decisions_, engine.trials().groups(kLearned),
            engine.trials().difference(kLearned)};
  }

 private:
  const LearnedRunOptions& options_;
  models::QTrainer& trainer_;
  placement::Learner learner_;
  Random random_, ties_;
  std::unique_ptr<LiveEngine> engine_;
  std::shared_ptr<const models::QNetwork> learned_;
  std::array<std::uint64_t, 4> decisions_{};
  std::uint64_t frozen_at_ = 0;
  double to_draw_ = 0;
};

}  // namespace

Result<LearnedRun> run_learned(const Episode& episode, const LearnedRunOptions& options, models::QTrainer& trainer) {
  const LiveRunOptions run;
  placement::ClusterModelOptions about;
  about.idle_nodes_sleep = episode.options.sleep;
  about.stale_after_s = std::max(about.stale_after_s, 2 * run.telemetry_period_s);
  LiveEngineOptions live;
  live.engine.decide.reward = options.reward;
  live.engine.decide.mask.owner_share = {episode.options.owner_share, episode.options.owner_share};
  live.engine.decide.mask.stale_after_s = std::max(live.engine.decide.mask.stale_after_s, 2 * run.telemetry_period_s);
  live.engine.trials.on = true;
  live.engine.trials.seed = episode.seed;
  WATTLE_TRY(auto engine, LiveEngine::make(std::move(live), placement::ClusterModel(about)));
  LearnedPlayer player(episode, options, trainer, std::move(engine));
  WATTLE_TRY(LivePlayed played, play_live(episode, player, options.reward, run));
  return player.figures(std::move(played.figures));
}

}  // namespace wattle::sim::consolidation
