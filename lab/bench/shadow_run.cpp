#include "lab/bench/shadow_run.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "common/formatted.hpp"
#include "common/stats/share.hpp"
#include "common/stats/to_come.hpp"
#include "sim/env/statistics.hpp"
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
        extender_weight_(options.extender_weight),
        mode_(mode),
        acting_(mode == ShadowMode::live),
        warm_until_s_(2 * options.telemetry_period_s + episode.options.warm_s),
        schedule_(half_treated(episode.seed, warm_until_s_)),
        ties_(mix(episode.seed, 0x74696573ULL)),
        exploration_(mix(episode.seed, 0x65787021ULL)) {}

  WorldObserver* observer() override { return this; }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t) override {
    turn(world.now_s());
    const placement::PlacementDecision advice =
        engine_->decide(view, engine_->expected(pod.spec), contestant_.network, 0, exploration_);
    const std::vector<std::int64_t> scores = acting_ ? advice.scores : std::vector<std::int64_t>();
    return select_node(world.kube_nodes(), kube_pod(pod.spec.request), scores, extender_weight_, ties_);
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
  std::int64_t extender_weight_;
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

namespace {

constexpr double kShadowHour_s = 3600;
constexpr double kShadowTelemetry_s = 10;  // half as expensive to simulate as the default period

double day_j(const RunFigures& figures, double warm_s, std::size_t day) {
  const auto first =
      static_cast<std::size_t>(warm_s / kShadowHour_s) + day * static_cast<std::size_t>(kShadowDay_s / kShadowHour_s);
  double sum_j = 0;
  for (std::size_t hour = first; hour < first + static_cast<std::size_t>(kShadowDay_s / kShadowHour_s); ++hour)
    sum_j += figures.hours.at(hour).energy_j;
  return sum_j;
}

std::optional<stats::Interval> expected_after(const PlayedShadow& played, std::size_t day) {
  const auto& figure = played.days.at(day);
  return figure ? std::optional(stats::to_come(figure->change, figure->seconds)) : std::nullopt;
}

struct ShadowEpisodes {
  Episode learned_from, canary, compared;
};

ShadowEpisodes episodes_of(const Dataset& data, Options drawn, std::uint64_t seed, const ShadowOptions& shadow) {
  constexpr std::uint64_t kCanary = 700'000'000;
  if (!drawn.cluster_seed) drawn.cluster_seed = seed;
  Episode before = episode_before(data, drawn, seed);
  drawn.measure_s = shadow.canary_s;
  Episode canary = make_episode(data, drawn, seed + kCanary);
  drawn.measure_s = kShadowDay_s * static_cast<double>(shadow.days + 1);
  return {std::move(before), std::move(canary), make_episode(data, drawn, seed)};
}

Result<ShadowRun> run_shadow(const ShadowEpisodes& episodes, const Contestant& contestant,
                             const LiveRunOptions& options, const ShadowOptions& shadow) {
  WATTLE_TRY(const PlayedShadow taught,
             play_shadow(episodes.learned_from, contestant, {}, options, ShadowMode::shadow));
  const std::string& known = taught.played.known;
  WATTLE_TRY(const PlayedShadow canary, play_shadow(episodes.canary, contestant, known, options, ShadowMode::canary));
  const Episode& compared = episodes.compared;
  WATTLE_TRY(const PlayedShadow idle, play_shadow(compared, contestant, known, options, ShadowMode::shadow));
  WATTLE_TRY(const PlayedShadow live,
             play_shadow(compared, contestant, canary.played.known, options, ShadowMode::live));
  RunFigures all_on = idle.played.figures;
  if (compared.options.sleep) {
    Episode awake = compared;
    awake.options.sleep = false;
    WATTLE_TRY(PlayedShadow played, play_shadow(awake, contestant, known, options, ShadowMode::shadow));
    all_on = std::move(played.played.figures);
  }
  ShadowRun run;
  run.seed = compared.seed;
  run.calibration = controller::calibrate(std::span(&canary.blocks, 1), measured_block_s());
  for (std::size_t day = 0; day < shadow.days; ++day) {
    ShadowDay one;
    one.shadow_j = day_j(idle.played.figures, compared.options.warm_s, day + 1);
    one.live_j = day_j(live.played.figures, compared.options.warm_s, day + 1);
    one.all_on_j = day_j(all_on, compared.options.warm_s, day + 1);
    one.shadow = expected_after(idle, day);
    one.live_modelled = expected_after(live, day);
    if (one.live_modelled && run.calibration)
      one.live = controller::calibrated(*one.live_modelled, *run.calibration,
                                        -live.days[day]->asleep_w / live.days[day]->now_w);
    run.days.push_back(one);
  }
  return run;
}

bool holds(const stats::Interval& interval, double change) { return interval.low <= change && change <= interval.high; }

struct Tally {
  std::size_t shown = 0, held = 0, above = 0;  // above: more was saved than expected
  double too_much = 0;                         // sum of expected minus real saving
  double halves = 0;                           // sum of half the intervals' widths
  std::vector<double> errors;                  // by interval, without a sign
  void add(const std::optional<stats::Interval>& interval, double change) {
    if (!interval) return;
    ++shown;
    held += holds(*interval, change) ? 1 : 0;
    above += change < interval->low ? 1 : 0;
    too_much += change - interval->mean;
    halves += (interval->high - interval->low) / 2;
    errors.push_back(std::abs(change - interval->mean));
  }
  double mean_half() const { return shown > 0 ? halves / static_cast<double>(shown) : 0; }
  // Intervals of one width, the mean one: the floor, which needs no estimate of each day's uncertainty.
  std::size_t held_by_constant() const {
    return static_cast<std::size_t>(
        std::count_if(errors.begin(), errors.end(), [&](double error) { return error <= mean_half(); }));
  }
};

std::string tally_line(std::string_view what, const Tally& tally, std::size_t days) {
  return formatted(
      "%-18.*s the interval holds the day after in %zu of %zu, %s; saved more in %zu, less in %zu; no figure "
      "in %zu; overstates by %.1f points on average; half its width is %.1f points on average, and a constant interval "
      "of that width holds in %zu\n",
      static_cast<int>(what.size()), what.data(), tally.held, tally.shown,
      interval_text(stats::share_interval(tally.held, tally.shown), {.decimals = 0, .scale = 100, .unit = "%"}).c_str(),
      tally.above, tally.shown - tally.held - tally.above, days - tally.shown,
      tally.shown > 0 ? 100 * tally.too_much / static_cast<double>(tally.shown) : 0, 100 * tally.mean_half(),
      tally.held_by_constant());
}

}  // namespace

Result<std::vector<ShadowRun>> run_shadows(const Dataset& data, const BenchOptions& options,
                                           const ShadowOptions& shadow) {
  WATTLE_TRY(const Contestant contestant, contestant_named(shadow.policy, options.network.get()));
  LiveRunOptions live;
  live.network = options.learned;
  live.extender_weight = options.extender_weight;
  live.telemetry_period_s = kShadowTelemetry_s;
  std::vector<ShadowRun> runs;
  for (std::size_t k = 0; k < options.seeds; ++k) {
    Options drawn = options.episode;
    drawn.nodes = options.nodes.front();
    const ShadowEpisodes episodes = episodes_of(data, drawn, options.first_seed + k, shadow);
    WATTLE_TRY(ShadowRun run, run_shadow(episodes, contestant, live, shadow));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string shadow_table(const std::vector<ShadowRun>& runs) {
  std::string text =
      "changes of energy, in %: of live to shadow, and to a cluster whose nodes are all on\n   seed  day    live did  "
      "expected in shadow      all on  expected live, calibrated     as modelled live\n";
  const bool enough = enough_seeds(runs.size());
  const auto shown = [&](const std::optional<stats::Interval>& interval, double change) -> std::string {
    if (!interval) return "-";
    const stats::Interval range = enough ? *interval : stats::without_range(interval->mean);
    return interval_text(range, {.decimals = 1, .scale = 100, .sign = true}) +
           (!enough || holds(*interval, change) ? "" : " no");
  };
  Tally shadow, live, modelled;
  std::size_t days = 0;
  for (const ShadowRun& run : runs) {
    for (std::size_t day = 0; day < run.days.size(); ++day) {
      const ShadowDay& one = run.days[day];
      const double change = one.change(), whole = one.whole_change();
      text += formatted("%7llu  %3zu  %+10.1f  %-22s  %+6.1f  %-26s  %s\n", static_cast<unsigned long long>(run.seed),
                        day + 1, 100 * change, shown(one.shadow, change).c_str(), 100 * whole,
                        shown(one.live, whole).c_str(), shown(one.live_modelled, whole).c_str());
      ++days;
      shadow.add(one.shadow, change);
      live.add(one.live, whole);
      modelled.add(one.live_modelled, whole);
    }
  }
  if (!enough) return text + seeds_note(runs.size(), "--seeds");
  return text + tally_line("shadow", shadow, days) + tally_line("live, calibrated", live, days) +
         tally_line("live, as modelled", modelled, days);
}

}  // namespace wattle::sim::consolidation
