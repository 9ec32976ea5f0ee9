#include "lab/bench/live_run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/parse.hpp"
#include "placement/worth/outcome.hpp"
#include "sim/env/pending_pods.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr auto kSlotsOfSample = static_cast<std::size_t>(kSample_s / kDemandSlot_s);

constexpr double kReportedHour_s = 3600, kWholeDay_s = 86'400;
constexpr std::string_view kUid = "pod-";
constexpr double kTick_s = 1e-6;  // times are whole nanoseconds

// The first telemetry arrives before the first pod.
double before_first_s(const LiveRunOptions& live) { return 2 * live.telemetry_period_s; }

WorldOptions world_of(const Episode& episode, const LiveRunOptions& live) {
  WorldOptions world;
  world.seed = episode.seed;
  world.idle_nodes_sleep = episode.options.sleep;
  world.curves_known = episode.options.cluster_model == ClusterModel::truth;
  world.sleep_after_s = kSleepAfter_s;
  world.telemetry_period_s = live.telemetry_period_s;
  world.power_noise_ratio = episode.options.power_noise_ratio;
  world.demand_slot_s = episode.options.crowded ? kDemandSlot_s : kSample_s;
  const Experience& experience = episode.options.experience;
  const std::uint64_t cluster = episode.options.cluster_seed.value_or(episode.seed);
  if (episode.options.pairs > 0 || experience.interference) {
    cluster::Pairs pairs = pairs_of(episode.options.apps, episode.options.pairs);
    if (experience.interference) share_resources(pairs, episode.options.apps, cluster);
    world.pairs = std::make_shared<const cluster::Pairs>(std::move(pairs));
  }
  const std::size_t nodes = episode.servers.size();
  if (experience.rack_meter) world.datasheet_times = datasheet_times(nodes, cluster);
  if (experience.wave) world.trouble.shifts = latency_wave(nodes, before_first_s(live) + episode.end_s, cluster);
  const std::vector<double> starts =
      experience.crowding ? waiting_starts(nodes, cluster) : std::vector<double>(nodes, 1.0);
  for (const ServerModel& server : episode.servers) {
    NodeSpec node;
    node.server = server;
    if (episode.options.zones > 0) node.zone = "zone-" + std::to_string(world.nodes.size() % episode.options.zones);
    node.crowded_ratio = starts[world.nodes.size()];
    if (experience.wave) node.latency_ms = latency_ms_at(world.nodes.size(), 0, cluster);
    world.nodes.push_back(std::move(node));
  }
  return world;
}

// The real mean demand and life of a pod of the episode, for an oracle.
std::optional<placement::DemandPrediction> real_demand(const Episode& episode, const placement::PodSpec& spec) {
  const auto p = parse::integer<std::size_t>(std::string_view(spec.uid).substr(std::min(spec.uid.size(), kUid.size())));
  if (!p || *p >= episode.pods.size()) return std::nullopt;
  const Pod& pod = episode.pods[*p];
  placement::DemandPrediction known;
  known.cores = pod.times * episode.day->mean_cores[pod.machine];
  known.life_s = std::isfinite(pod.life_s) ? pod.life_s : kWholeDay_s;
  known.seen_pods = 1;
  return known;
}

SimPod sim_pod(const Episode& episode, std::size_t p) {
  const Pod& pod = episode.pods[p];
  const placement::AppKey app = app_key(pod.app);
  SimPod made;
  made.spec.uid = std::string(kUid) + std::to_string(p);
  made.spec.name = made.spec.uid;
  made.spec.app = app.owner + " " + app.image;
  made.spec.owner = app.owner;
  made.spec.request = pod.request;
  made.mean_demand_cores = pod.times * episode.day->mean_cores[pod.machine];
  made.memory_used_bytes = 0.7 * pod.request.memory_bytes;
  made.life_s = pod.life_s;
  made.app = pod.app;
  if (const auto limits = latency_limits_of(pod.app); limits && episode.options.experience.wave) {
    made.spec.latency_soft_ms = limits->soft_ms;
    made.spec.latency_hard_ms = limits->hard_ms;
  }
  made.cores_by_slot = episode.day->cores[pod.machine];
  made.cores_times = pod.times;
  if (episode.options.crowded) {
    made.slots_each = kSlotsOfSample;
    made.variability = kBurst;
    made.seed = mix(episode.seed, p);
  }
  return made;
}

// Returns the next pods: those that wait, the longest first, then those that will come.
std::vector<placement::PodSpec> next_pods(const Episode& episode, const PendingPods& pending, std::size_t to_come,
                                          std::size_t look_ahead) {
  std::vector<placement::PodSpec> next;
  for (const PendingPods::Pod& each : pending.pods()) {
    if (next.size() == look_ahead) return next;
    next.push_back(each.pod.spec);
  }
  for (std::size_t p = to_come; p < episode.pods.size() && next.size() < look_ahead; ++p)
    next.push_back(sim_pod(episode, p).spec);
  return next;
}

// Replicas of the owner of a pod that is placed on `node`, with the pod.
struct OwnerReplicas {
  std::uint64_t all = 1, on_node = 1, in_zone = 1;
  OwnerReplicas(const placement::ClusterView& view, std::size_t node) {
    on_node += view.nodes[node].owner_pods;
    for (const placement::NodeView& each : view.nodes) {
      all += each.owner_pods;
      if (!each.zone.empty() && each.zone == view.nodes[node].zone) in_zone += each.owner_pods;
    }
  }
};

// Plays a contestant for evaluation, without training.
class Judged final : public LivePlayer {
 public:
  explicit Judged(Chooser chooser) : chooser_(std::move(chooser)) {}
  WorldObserver* observer() override { return chooser_.observer(); }
  const placement::DecisionEngine& engine() const override { return chooser_.engine().engine(); }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t) override {
    return chooser_.choose(world, view, pod, ahead_);
  }
  void ahead(const placement::Ahead& ahead) override { ahead_ = ahead; }
  std::optional<placement::Deferral> deferred() const override { return chooser_.deferred(); }

 private:
  Chooser chooser_;
  placement::Ahead ahead_;
};

// Places each pod where a given placement says.
class Held final : public LivePlayer {
 public:
  Held(const Placement& placement, std::unique_ptr<LiveEngine> engine)
      : placement_(placement), engine_(std::move(engine)) {}
  WorldObserver* observer() override { return engine_.get(); }
  const placement::DecisionEngine& engine() const override { return engine_->engine(); }
  Result<std::optional<std::size_t>> choose(const World&, const placement::ClusterView&, const SimPod&,
                                            std::uint64_t decision_id) override {
    return std::optional(placement_[decision_id - 1]);
  }

 private:
  const Placement& placement_;
  std::unique_ptr<LiveEngine> engine_;
};

// `candidates`: evidence of before; no value: none.
Result<LivePlayed> judge(const Episode& episode, const Contestant& contestant, std::string known,
                         std::optional<placement::CandidateTrials::State> candidates, const LiveRunOptions& live,
                         RequestSetter& requests) {
  ChooserOptions options;
  options.cluster_model.idle_nodes_sleep = episode.options.sleep;
  // Reports that come on time are not stale.
  options.mask.stale_after_s = std::max(options.mask.stale_after_s, 2 * live.telemetry_period_s);
  options.cluster_model.stale_after_s = std::max(options.cluster_model.stale_after_s, 2 * live.telemetry_period_s);
  if (episode.options.cluster_model == ClusterModel::truth)
    options.cluster_model.known = [&episode](const placement::PodSpec& pod) { return real_demand(episode, pod); };
  options.mask.owner_share = {episode.options.owner_share, episode.options.owner_share};
  options.known = std::move(known);
  options.candidates = std::move(candidates);
  options.network = live.network;
  options.extender_weight = live.extender_weight;
  WATTLE_TRY(Chooser chooser, Chooser::make(contestant, options, episode.seed));
  Judged player(std::move(chooser));
  return play_live(episode, player, options.reward, live, live.set_requests != SetWhat::nothing ? &requests : nullptr);
}

}  // namespace

Result<LivePlayed> play_live(const Episode& episode, LivePlayer& player, const placement::RewardConfig& reward,
                             const LiveRunOptions& live, RequestSetter* requests) {
  WorldOptions options = world_of(episode, live);
  options.kept_curve = [&](const std::string& node) { return player.engine().cluster_model().kept_curve(node); };
  options.settle_s = placement::times_of(reward.preset).settle_s.value_or(options.settle_s);
  if (requests != nullptr) requests->begin(player.observer());
  World world(std::move(options), requests != nullptr ? requests : player.observer());
  LivePlayed played;
  RunFigures& figures = played.figures;
  if (!episode.options.churn) figures.placement.assign(episode.pods.size(), cluster::kNowhere);
  WorldFigures begun;
  SetRequests set_before;
  bool measuring = false;
  WorldFigures hour;
  const double before_s = before_first_s(live);
  const auto go_to = [&](double until_s) {
    for (;;) {
      const double hour_s = before_s + kReportedHour_s * static_cast<double>(figures.hours.size() + 1);
      if (until_s < hour_s) return world.advance_to(until_s);
      world.advance_to(hour_s);
      const WorldFigures now = world.figures();
      figures.hours.push_back({now.pod_s - hour.pod_s, now.pressure_pod_s - hour.pressure_pod_s,
                               now.energy_j - hour.energy_j, now.work_core_s - hour.work_core_s,
                               now.late_pod_s - hour.late_pod_s, now.constrained_pod_s - hour.constrained_pod_s});
      hour = now;
    }
  };
  const auto measure_from = [&](double at_s) {
    if (measuring || at_s < episode.measure_from_s) return;
    go_to(before_s + episode.measure_from_s);
    begun = world.figures();
    if (requests != nullptr) set_before = requests->figures();
    measuring = true;
  };
  PendingPods pending;
  double gated = 0, asked = 0, waited_s = 0, deferred_s = 0;
  std::size_t to_come = 0;  // index of the next pod to arrive
  std::uint64_t placed = 0;
  const auto ask = [&](PendingPods::Pod each) -> Status {
    WATTLE_CHECK(player.settled(world.take_settled()));
    each.pod.spec = player.engine().expected(each.pod.spec);
    const placement::ClusterView& view = world.view(each.pod.spec, pending.size());
    const auto next = next_pods(episode, pending, to_come, live.look_ahead);
    const double may_wait_s = live.defer_s - (world.now_s() - each.since_s);
    player.ahead({next, may_wait_s > kTick_s ? may_wait_s : 0});
    WATTLE_TRY(const auto node, player.choose(world, view, each.pod, each.id));
    asked += 1;
    if (player.engine().gated()) gated += 1;
    if (!node) {
      each.tried_s = world.now_s();
      if (const auto wait = player.deferred()) {
        each.again_s = world.now_s() + wait->again_s;
        deferred_s += wait->again_s;
        figures.deferrals += 1;
      }
      pending.add(std::move(each));
      return {};
    }
    waited_s += world.now_s() - each.since_s;
    if (!episode.options.churn) figures.placement[each.id - 1] = *node;
    if (const OwnerReplicas owner(view, *node); owner.all > 1) {
      figures.replicas += 1;
      figures.node_over_half += owner.on_node > (owner.all + 1) / 2 ? 1 : 0;
      figures.zone_over_half += owner.in_zone > (owner.all + 1) / 2 ? 1 : 0;
    }
    auto outcome = placement::begin_outcome(view, each.pod.spec, *node, reward);
    outcome.placement = placed++;
    figures.placements += 1;
    return world.place(each.pod, *node, each.id, std::move(outcome));
  };
  // Retries due pending pods on the way.
  const auto advance_to = [&](double at_s) -> Status {
    for (;;) {
      double until_s = std::min(before_s + at_s, pending.next_s());
      if (requests != nullptr) until_s = std::min(until_s, requests->due_s());
      measure_from(until_s - before_s);
      go_to(until_s);
      if (requests != nullptr) requests->tick(world);
      if (auto taken = pending.take(world)) {
        WATTLE_CHECK(ask(std::move(*taken)));
      } else if (until_s >= before_s + at_s) {
        return {};
      }
    }
  };
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    WATTLE_CHECK(advance_to(episode.pods[p].arrives_s));
    to_come = p + 1;
    WATTLE_CHECK(ask({sim_pod(episode, p), p + 1, world.now_s(), 0, {}}));
  }
  WATTLE_CHECK(advance_to(episode.measure_from_s));
  WATTLE_CHECK(advance_to(episode.end_s));
  WATTLE_CHECK(player.settled(world.take_settled()));
  figures.refused = static_cast<double>(pending.size());
  figures.pending_s = (waited_s + pending.waited_s(world.now_s())) / static_cast<double>(episode.pods.size());
  figures.deferred_s = deferred_s / static_cast<double>(episode.pods.size());
  const WorldFigures end = world.figures();
  figures.energy_j = end.energy_j - begun.energy_j;
  figures.awake_nodes = (end.awake_node_s - begun.awake_node_s) / (episode.end_s - episode.measure_from_s);
  figures.wakes = static_cast<double>(end.wakes - begun.wakes);
  figures.wake_wait_s = end.waking_pod_s - begun.waking_pod_s;
  figures.waiting =
      (end.pressure_pod_s - begun.pressure_pod_s + figures.wake_wait_s) / std::max(1.0, end.pod_s - begun.pod_s);
  figures.work_core_s = end.work_core_s - begun.work_core_s;
  const double undisturbed_s = end.work_pod_s - begun.work_pod_s;
  if (undisturbed_s > 0) figures.life_stretch = (end.pod_s - begun.pod_s) / undisturbed_s;
  figures.wait_limit = player.engine().cluster_model().pod_time().cpu_wait().limit();
  if (requests != nullptr) {
    const SetRequests& set = requests->figures();
    figures.projected = requests->projected();
    figures.asleep_w = requests->asleep_w();
    figures.requests_set = set.writes - set_before.writes;
    const double measured_s = episode.end_s - episode.measure_from_s;
    figures.given_up_cores = (set.given_up_core_s - set_before.given_up_core_s) / measured_s;
    figures.given_up_bytes = (set.given_up_byte_s - set_before.given_up_byte_s) / measured_s;
  }
  figures.network_gated = gated / std::max(1.0, asked);
  played.known = player.engine().cluster_model().save(world.view({}));
  played.candidates = player.engine().trials().saved();
  return played;
}

Result<RunFigures> hold(const Episode& episode, const Placement& placement) {
  LiveEngineOptions live;
  live.policy = "kube-default";
  WATTLE_TRY(auto engine, LiveEngine::make(std::move(live)));
  Held held(placement, std::move(engine));
  WATTLE_TRY(LivePlayed played, play_live(episode, held, {}, {}));
  return std::move(played.figures);
}

Result<RunFigures> run_live(const Episode& episode, const Episode* before, const Contestant& contestant,
                            const LiveRunOptions& options) {
  RequestSetter requests(options.set_requests == SetWhat::cpu_and_memory);
  if (options.set_requests == SetWhat::projected) requests.only_project();
  std::string known;
  std::optional<placement::CandidateTrials::State> candidates;
  if (before != nullptr) {
    WATTLE_TRY(LivePlayed taught, judge(*before, contestant, {}, {}, options, requests));
    known = std::move(taught.known);
    candidates = std::move(taught.candidates);
  }
  WATTLE_TRY(const LivePlayed played,
             judge(episode, contestant, std::move(known), std::move(candidates), options, requests));
  return played.figures;
}

}  // namespace wattle::sim::consolidation
