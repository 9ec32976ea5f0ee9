#include "lab/bench/shadow_run.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include "common/stats/share.hpp"
#include "sim/env/statistics.hpp"
#include "sim/world/kube_scoring.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

placement::ClusterModelOptions about(const Episode& episode) {
  placement::ClusterModelOptions options;
  options.idle_nodes_sleep = episode.options.sleep;
  return options;
}

// The contestant's advice is followed if it acts; otherwise the default scheduler decides.
class ShadowPlayer final : public LivePlayer {
 public:
  static Result<ShadowPlayer> make(const Episode& episode, const Contestant& contestant, const std::string& known,
                                   const placement::RewardConfig& reward, const LiveRunOptions& options, bool acting) {
    placement::ClusterModel cluster_model(about(episode));
    if (!known.empty()) WATTLE_CHECK(cluster_model.restore(known));
    LiveEngineOptions live;
    live.policy = contestant.policy;
    live.engine.decide.reward = reward;
    live.engine.network = options.network;
    live.acting = acting;
    live.modelled = acting ? placement::Modelled::default_scheduler : placement::Modelled::advice;
    WATTLE_TRY(auto engine, LiveEngine::make(std::move(live), std::move(cluster_model)));
    return ShadowPlayer(std::move(engine), contestant, options.scheduler, episode.seed, acting);
  }

  WorldObserver* observer() override { return engine_.get(); }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }
  Status settled(std::vector<Settled>) override { return {}; }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t) override {
    const placement::PlacementDecision advice =
        engine_->decide(view, engine_->expected(pod.spec), contestant_->network, 0, exploration_);
    const std::vector<std::int64_t> scores = acting_ ? advice.scores : std::vector<std::int64_t>();
    return bind_node(world.kube_nodes(), kube_pod(pod.spec.request), scores, scheduler_, view, ties_);
  }

 private:
  ShadowPlayer(std::unique_ptr<LiveEngine> engine, const Contestant& contestant, const SchedulerOptions& scheduler,
               std::uint64_t seed, bool acting)
      : engine_(std::move(engine)),
        contestant_(&contestant),
        scheduler_(scheduler),
        acting_(acting),
        ties_(mix(seed, 0x74696573ULL)),
        exploration_(mix(seed, 0x65787021ULL)) {}

  std::unique_ptr<LiveEngine> engine_;
  const Contestant* contestant_;
  SchedulerOptions scheduler_;
  bool acting_;
  Random ties_, exploration_;
};

struct PlayedShadow {
  LivePlayed played;
  std::optional<placement::ModelledFigure> figure;
};

Result<PlayedShadow> play_shadow(const Episode& episode, const Contestant& contestant, const std::string& known,
                                 const LiveRunOptions& options, bool acting) {
  const placement::RewardConfig reward = ChooserOptions{}.reward;
  WATTLE_TRY(auto player, ShadowPlayer::make(episode, contestant, known, reward, options, acting));
  PlayedShadow out;
  WATTLE_TRY(out.played, play_live(episode, player, reward, options));
  out.figure = player.engine().shadow().saving()->figure();
  return out;
}

// The episode until `end_s`.
Episode cut(Episode episode, double end_s) {
  std::erase_if(episode.pods, [&](const Pod& pod) { return pod.arrives_s >= end_s; });
  episode.end_s = end_s;
  return episode;
}

}  // namespace

Result<ShadowRun> run_shadow(Episode episode, const Episode& before, const Contestant& contestant,
                             const LiveRunOptions& options, const ShadowOptions& shadow) {
  WATTLE_TRY(const PlayedShadow taught, play_shadow(before, contestant, {}, options, false));
  const std::string& known = taught.played.known;
  WATTLE_TRY(const PlayedShadow modelled,
             play_shadow(cut(episode, episode.end_s - shadow.ahead_s), contestant, known, options, shadow.acting));
  if (!modelled.figure)
    return fail(Errc::out_of_range, "the episode", "is too short for a modelled figure", "use more hours");
  ShadowRun run;
  run.seed = episode.seed;
  run.modelled = *modelled.figure;
  run.ahead = shadow.ahead_s > 0;
  run.measured_s = shadow.ahead_s > 0 ? shadow.ahead_s : run.modelled.seconds;
  episode.measure_from_s = episode.end_s - run.measured_s;
  WATTLE_TRY(const PlayedShadow idle, play_shadow(episode, contestant, known, options, false));
  run.shadow = idle.played.figures;
  WATTLE_TRY(const PlayedShadow live, play_shadow(episode, contestant, known, options, true));
  run.live = live.played.figures;
  return run;
}

Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options,
                                           const ShadowOptions& shadow) {
  WATTLE_TRY(const Contestant contestant, contestant_named(shadow.policy, options.network.get()));
  LiveRunOptions live;
  live.network = options.learned;
  live.scheduler = options.scheduler;
  std::vector<ShadowRun> runs;
  for (std::size_t k = 0; k < options.seeds; ++k) {
    Options drawn = options.episode;
    drawn.nodes = options.nodes.front();
    drawn.measure_s += shadow.ahead_s;
    const std::uint64_t seed = options.first_seed + k;
    const Episode before = episode_before(data, drawn, seed);
    if (!drawn.cluster_seed) drawn.cluster_seed = seed;
    WATTLE_TRY(ShadowRun run, run_shadow(make_episode(data, drawn, seed), before, contestant, live, shadow));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string shadow_table(const std::vector<ShadowRun>& runs) {
  std::string text =
      "   seed  modelled, in % of joules     live did  holds   waiting modelled  live had   shadow had  hours    W "
      "modelled: default, Wattle   W true\n";
  const bool enough = enough_seeds(runs.size());
  std::size_t held = 0;
  char line[300];
  for (const ShadowRun& run : runs) {
    const Interval change = enough ? run.expected() : stats::without_range(run.modelled.change.mean);
    held += run.holds() ? 1 : 0;
    std::snprintf(line, sizeof line,
                  "%7llu  %26s  %+10.1f  %5s  %16.2f%%  %8.2f%%  %9.2f%%  %5.1f  %14.1f  %12.1f  %7.1f  %7.1f\n",
                  static_cast<unsigned long long>(run.seed),
                  interval_text(change, {.decimals = 1, .scale = 100, .sign = true}).c_str(), 100 * run.change(),
                  !enough       ? "-"
                  : run.holds() ? "yes"
                                : "no",
                  100 * run.modelled.advised_wait_ratio, 100 * run.live.waiting, 100 * run.shadow.waiting,
                  run.measured_s / 3600, run.modelled.now_w, run.modelled.advised_w,
                  run.shadow.energy_j / run.measured_s, run.live.energy_j / run.measured_s);
    text += line;
  }
  if (!enough) return text + seeds_note(runs.size(), "--seeds");
  std::snprintf(
      line, sizeof line, "the interval holds what live did in %zu of %zu fleets, %s\n", held, runs.size(),
      interval_text(stats::share_interval(held, runs.size()), {.decimals = 0, .scale = 100, .unit = "%"}).c_str());
  return text + line;
}

}  // namespace wattle::sim::consolidation
