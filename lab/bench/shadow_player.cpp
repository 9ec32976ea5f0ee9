#include "lab/bench/shadow_player.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/kube_scoring.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

controller::SwitchbackSchedule half_treated(std::uint64_t seed, double from_s) {
  controller::SwitchbackSchedule schedule;
  schedule.seed = seed;
  schedule.share = 0.5;
  schedule.began = WallTime(from_seconds(from_s));
  return schedule;
}

controller::ClusterNow cluster_now(const placement::ClusterView& view, const placement::DecisionEngine& engine) {
  controller::ClusterNow now;
  for (const placement::NodeView& node : view.nodes) {
    ++now.nodes;
    now.requested_cores += node.requested.cpu_cores;
    if (!node.power_w) continue;
    ++now.watched;
    now.power_w += *node.power_w;
  }
  now.compared = engine.shadow().compared();
  return now;
}

// Follows the advice where the mode does; elsewhere the default scheduler decides.
class ShadowPlayer final : public LivePlayer, private WorldObserver {
 public:
  ShadowPlayer(std::unique_ptr<LiveEngine> engine, const Episode& episode, const Contestant& contestant,
               const LiveRunOptions& options, ShadowMode mode)
      : engine_(std::move(engine)),
        contestant_(contestant),
        scheduler_(options.scheduler),
        mode_(mode),
        acting_(mode == ShadowMode::live),
        warm_until_s_(2 * options.telemetry_period_s + episode.options.warm_s),
        schedule_(half_treated(episode.seed, warm_until_s_)),
        ties_(mix(episode.seed, 0x74696573ULL)),
        exploration_(mix(episode.seed, 0x65787021ULL)) {}

  WorldObserver* observer() override { return this; }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }
  Status settled(std::vector<Settled>) override { return {}; }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t) override {
    turn(world.now_s());
    const placement::PlacementDecision advice =
        engine_->decide(view, engine_->expected(pod.spec), contestant_.network, 0, exploration_);
    const std::vector<std::int64_t> scores = acting_ ? advice.scores : std::vector<std::int64_t>();
    return bind_node(world.kube_nodes(), kube_pod(pod.spec.request), scores, scheduler_, view, ties_);
  }
  PlayedShadow take() { return {{}, std::move(blocks_), std::move(days_)}; }

 private:
  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override {
    engine_->placed(id, pod, node, row, now);
  }
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override { engine_->ended(pod, row, now); }
  void used(std::span<const PodUse> pods, double interval_s) override { engine_->used(pods, interval_s); }
  void reported(const World& world) override {
    const auto block = turn(world.now_s());
    engine_->reported(world);
    const double passed_s = world.now_s() - std::exchange(reported_s_, world.now_s());
    if (block) {
      const auto now = cluster_now(world.view({}), engine_->engine());
      if (const auto over = meter_.add(*block, now, from_seconds(passed_s))) blocks_.push_back(*over);
    }
    if (world.now_s() >= warm_until_s_ + kShadowDay_s * static_cast<double>(days_.size() + 1))
      days_.push_back(engine().shadow().saving()->figure());
  }
  // Returns the block of a canary that is active.
  std::optional<controller::Block> turn(double now_s) {
    if (mode_ != ShadowMode::canary || now_s < warm_until_s_) return std::nullopt;
    const controller::Block block = controller::block_at(schedule_, WallTime(from_seconds(now_s)));
    acting_ = block.treated;
    engine_->set_control(acting_ ? std::nullopt : std::optional(block.number));
    return block;
  }

  std::unique_ptr<LiveEngine> engine_;
  const Contestant& contestant_;
  SchedulerOptions scheduler_;
  ShadowMode mode_;
  bool acting_;
  double warm_until_s_, reported_s_ = 0;
  controller::SwitchbackSchedule schedule_;
  controller::BlockMeter meter_;
  std::vector<controller::BlockResult> blocks_;
  std::vector<std::optional<placement::ModelledFigure>> days_;
  Random ties_, exploration_;
};

}  // namespace

double measured_block_s() {
  const controller::SwitchbackSchedule schedule;
  return seconds(schedule.length - schedule.washout);
}

Result<PlayedShadow> play_shadow(const Episode& episode, const Contestant& contestant, const std::string& known,
                                 const LiveRunOptions& options, ShadowMode mode) {
  const placement::RewardConfig reward = ChooserOptions{}.reward;
  placement::ClusterModelOptions about;
  about.idle_nodes_sleep = episode.options.sleep;
  about.stale_after_s = std::max(about.stale_after_s, 2 * options.telemetry_period_s);
  placement::ClusterModel cluster_model(about);
  if (!known.empty()) WATTLE_CHECK(cluster_model.restore(known));
  LiveEngineOptions live;
  live.policy = contestant.policy;
  live.engine.decide.reward = reward;
  live.engine.decide.mask.stale_after_s = about.stale_after_s;
  live.engine.network = options.network;
  live.acting = mode != ShadowMode::shadow;
  live.modelled = live.acting ? placement::Modelled::default_scheduler : placement::Modelled::advice;
  WATTLE_TRY(auto engine, LiveEngine::make(std::move(live), std::move(cluster_model)));
  ShadowPlayer player(std::move(engine), episode, contestant, options, mode);
  WATTLE_TRY(LivePlayed played, play_live(episode, player, reward, options));
  PlayedShadow out = player.take();
  out.played = std::move(played);
  return out;
}

}  // namespace wattle::sim::consolidation
