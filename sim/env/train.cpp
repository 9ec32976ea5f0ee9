#include "sim/env/train.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "placement/learn/tabular.hpp"
#include "sim/policies/live_engine.hpp"

namespace wattle::sim {

namespace {
// Time between the episodes of one chain, so long that exp(-dt/tau) is 0, and no value is bootstrapped across.
constexpr double kBetweenEpisodes_s = 1e7;

// Makes the serving network from the trainer's weights.
Result<std::shared_ptr<const models::QNetwork>> frozen(const models::QTrainer& trainer) {
  return placement::network_of(trainer.weights(), trainer.steps(), "trained network");
}
}  // namespace

placement::LearnerOptions working_learner_options(const EnvOptions& env_options, double horizon_decisions) {
  placement::LearnerOptions options;
  options.n_step = 10;
  options.batch = 64;
  options.warmup = 500;
  options.replay_capacity = 50'000;
  options.settle_expiry_s = 150;
  Env env(env_options);
  double length_s = 0, decisions = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto figures = run_episode(env, {"model-greedy", Binding::advised, "model-greedy"}, seed);
    if (!figures) continue;
    decisions += figures->placements;
    length_s += env.world().now_s();
  }
  if (decisions > 0) options.tau_s = horizon_decisions * length_s / decisions;
  return options;
}

Result<TrainResult> train(const TrainOptions& options, models::QTrainer& trainer,
                          const std::function<void(const TrainProgress&)>& on_episode) {
  WATTLE_TRY(auto network, frozen(trainer));
  const std::string policy(placement::policy_of(*network));
  placement::LearnerOptions learner_options = options.learner;
  learner_options.seed = options.seed;
  if (policy == "tabular-q") learner_options.reward_centre = placement::kTableCentre;
  placement::DecideOptions decide;
  decide.reward = options.env.reward;
  decide.reward.with_prior = decide.reward.with_prior && network->on_prior();
  placement::Learner learner(learner_options, decide.reward, trainer);
  decide.mask = options.env.mask;
  decide.safe_margin = options.safe_margin;

  if (options.resume) {
    WATTLE_CHECK(trainer.restore(options.resume->trainer));
    WATTLE_CHECK(learner.restore(options.resume->learner));
    WATTLE_TRY(network, frozen(trainer));
  }
  Env env(options.env);
  const TrainState from = options.resume.value_or(TrainState{});
  Random random(mix(options.seed + from.episodes, 0x747261696eULL));
  TrainResult result;
  TrainProgress& progress = result.last;
  progress.decisions = from.decisions;
  progress.episodes = from.episodes;
  std::uint64_t id_base = from.next_id;
  double base_s = from.clock_s;
  while (progress.decisions < options.decisions) {
    const std::uint64_t seed = options.seed + progress.episodes;
    if (seed >= kFirstValidationSeed)
      return fail(Errc::out_of_range, "seed " + std::to_string(seed), "is kept for validation and evaluation",
                  "train on seeds below " + std::to_string(kFirstValidationSeed));
    WATTLE_TRY(const auto engine, LiveEngine::make({policy, {decide}}));
    env.begin(seed, engine.get());
    double reward_sum = 0, rewards = 0;
    const auto learn_outcomes = [&]() -> Status {
      for (Settled& settled : env.take_settled()) {
        auto reward = learner.settled(id_base + settled.decision_id, std::move(settled.outcome));
        if (!reward) {
          if (reward.error().code == Errc::not_found) continue;  // expired
          return forward_error(reward);
        }
        reward_sum += reward->value;
        rewards += 1;
      }
      return {};
    };
    while (!env.done() && progress.decisions < options.decisions) {
      WATTLE_CHECK(learn_outcomes());
      const MonoTime when = env.world().now() + from_seconds(base_s);
      learner.expire(when);
      const double part =
          std::min(1.0, 2.0 * static_cast<double>(progress.decisions) / static_cast<double>(options.decisions));
      progress.epsilon = options.epsilon_first + part * (options.epsilon_last - options.epsilon_first);
      env.expect(engine->expected(env.waiting().spec));
      const placement::ClusterView view = env.view();
      const std::vector<placement::PodSpec> next = env.next_pods();
      placement::PlacementDecision advice =
          engine->decide(view, env.waiting().spec, network.get(), progress.epsilon, random, {next});
      const auto target = bind_target(env, advice.scores, random);
      if (!target) {
        env.turn_away();
        continue;
      }
      const std::size_t row = advice.row_of[*target];
      // A masked node is not an action of the network.
      if (advice.observation.valid[row] != 0)
        learner.placed(id_base + env.decision_id(), std::move(advice.observation), static_cast<std::uint32_t>(row),
                       when);
      WATTLE_CHECK(env.bind(*target, view));
      ++progress.decisions;
      if (progress.decisions % options.decisions_per_step == 0) {
        auto stepped = learner.step();
        if (!stepped) return forward_error(stepped);
      }
      if (progress.decisions % options.refresh_every == 0) {
        WATTLE_TRY(network, frozen(trainer));
      }
    }
    WATTLE_CHECK(learn_outcomes());
    ++progress.episodes;
    progress.episode_reward = rewards > 0 ? reward_sum / rewards : 0;
    progress.learner = learner.figures();
    if (on_episode) on_episode(progress);
    id_base += env.decision_id() + 1;
    base_s += kBetweenEpisodes_s;
  }
  result.weights = trainer.weights();
  result.state = {trainer.checkpoint(), learner.save(), progress.decisions, progress.episodes, id_base, base_s};
  return result;
}

Result<TrainResult> train_best(TrainOptions options, std::span<models::QTrainer* const> trainers,
                               std::size_t validation_episodes,
                               const std::function<void(const TrainProgress&)>& on_episode) {
  std::optional<TrainResult> best;
  for (models::QTrainer* trainer : trainers) {
    WATTLE_TRY(TrainResult result, train(options, *trainer, on_episode));
    WATTLE_TRY(const auto network, frozen(*trainer));
    const Contestant contestant{"restart", Binding::advised, std::string(placement::policy_of(*network)),
                                network.get()};
    WATTLE_TRY(const Evaluation evaluation,
               evaluate(options.env, {contestant}, seeds_from(kFirstValidationSeed, validation_episodes)));
    const auto rewards = evaluation.of("restart").column(&EpisodeFigures::mean_reward);
    result.validation_reward =
        std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
    result.seed = options.seed;
    if (!best || result.validation_reward > best->validation_reward) best = std::move(result);
    options.seed += kSeedsPerRestart;
  }
  if (!best) return fail(Errc::out_of_range, "restarts", "there is no network to train", "use at least 1");
  return std::move(*best);
}

}  // namespace wattle::sim
