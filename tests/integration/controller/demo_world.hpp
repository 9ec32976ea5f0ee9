// demo_world: runs the world of scripts/demo in simulated time. Its fleet, latencies and pods drive the controller's
// own decider and trainer in lockstep, on a manual clock, without sockets or threads.
// Source   sim/live's fleet, ledger and pods, with the demo's figures; the demo's configuration of the controller
// Rules    a turn is 20 ms, which is the time between two learning steps at 50 per second; each node sends telemetry
//          once a second, and the nodes' sends are spread over the second; pods start and end as in sim/live/drive;
//          plans are made immediately on request
// Omits    this machine and its pods; the shim, which adds nothing to an ask; guards of the rollout
// Errors   those of the configuration and the networks, as a Result
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "controller/decisions/decider.hpp"
#include "controller/trainer/trainer.hpp"
#include "placement/plan/plan.hpp"
#include "sim/live/fleet.hpp"
#include "sim/live/ledger.hpp"
#include "sim/world/random.hpp"
#include "sim/world/workload.hpp"

namespace wattle::bench {

struct DemoOptions {
  std::uint64_t seed = 1;
  std::string policy = "dqn";
  bool learns = true;
  std::size_t nodes = 7, pods = 30;
  double period_s = 0.5;       // between two pods
  double rotate_every_s = 40;  // interval at which all latencies shift by one node; 0: no drift
  std::string learn;           // further keys of `learn`, e.g. "warmup: 64"
  std::string decide;          // further keys of `decide`
  std::string models_dir, data_dir;
};

// Outcome of one decision.
struct Judged {
  double at_s = 0, reward = 0;
  bool by_network = false;
  bool by_learned = false;  // used the network learned in this run, not the initial one
};

class DemoWorld {
 public:
  static constexpr Duration kTurn = std::chrono::milliseconds(20);

  static Result<std::unique_ptr<DemoWorld>> make(const DemoOptions& options) {
    const std::string text =
        "mode: live\nkey: none\nallow_list: none\npolicy: " + options.policy +
        "\ndecide: {settle_window: 3s, stale_after: 5s" + (options.decide.empty() ? "" : ", " + options.decide) +
        "}\nlearn: {warmup: 16, checkpoint_every: 24h" + (options.learn.empty() ? "" : ", " + options.learn) +
        "}\nseed: " + std::to_string(options.seed) + "\n";
    WATTLE_TRY(controller::ControllerConfig config, controller::parse_config(text, "the demo's configuration"));
    config.learn.tau_s = 30;            // placements follow each other twice a second
    config.measure_candidates = false;  // networks serve without a trial
    config.models_dir = options.models_dir;
    config.data_dir = options.data_dir;
    std::unique_ptr<DemoWorld> world(new DemoWorld(options, std::move(config)));
    if (options.learns) {
      const controller::LearnConfig& learn = world->config_.learn;
      const placement::RewardConfig& reward = world->config_.decide.reward;
      WATTLE_TRY(auto begun, controller::begin_network(learn, reward, options.models_dir));
      if (begun.first.fault) return tl::unexpected<Error>(*begun.first.fault);
      WATTLE_TRY(world->trainer_,
                 controller::Trainer::make(learn, reward, options.data_dir, std::move(begun.trainer), world->networks_,
                                           world->clock_, world->log_, begun.first.origin()));
    }
    return world;
  }

  // Advances the world by 20 ms.
  void turn() {
    clock_.advance(kTurn);
    const MonoTime now = clock_.mono();
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      if (now < due_[i]) continue;
      due_[i] += std::chrono::seconds(1);
      sample(i, now);
    }
    if (now >= next_pod_) {
      const bool full = window_.size() >= options_.pods;
      next_pod_ += from_seconds(full ? options_.period_s : options_.period_s / 3);
      if (full) remove_oldest(now);
      create(now);
    }
    if (now >= next_tick_) {
      next_tick_ += std::chrono::milliseconds(100);
      decider_->expire();
    }
    if (trainer_) trainer_->turn();
  }

  double now_s() const { return seconds(clock_.mono() - start_); }
  const controller::Decider& decider() const { return *decider_; }
  // No value if learning is off.
  std::optional<controller::TrainerFigures> learned() const {
    return trainer_ ? std::optional(trainer_->figures()) : std::nullopt;
  }
  // Returns the outcomes since the last call, valued by the current reward.
  std::vector<Judged> take_judged() { return std::exchange(judged_, {}); }

 private:
  // Makes plans as a controller does, but within the call.
  struct PromptPlans final : placement::PlanMaker {
    void want(const placement::Fleet& fleet) override {
      newest_ = std::make_shared<const placement::Plan>(placement::PlannerOptions{}, fleet, newest_.get());
    }
    std::shared_ptr<const placement::Plan> newest() override { return newest_; }
    std::shared_ptr<const placement::Plan> newest_;
  };

  DemoWorld(const DemoOptions& options, controller::ControllerConfig config)
      : options_(options),
        config_(std::move(config)),
        state_(config_.in_flight_expiry, config_.decide.mask.start_cap.window),
        fleet_(sim::synthetic_fleet(options.nodes, options.seed), fleet_options(options), clock_.mono()),
        workload_({sim::thesis_profile()}, sim::WorkloadOptions{.endless = true}, options.seed),
        random_(sim::mix(options.seed, 1)) {
    decider_.emplace(
        config_, state_, networks_, decisions_, clock_,
        [this](controller::LearningNews news) { learn(std::move(news)); }, 1);
    decider_->engine().plan_with(&plans_);
    std::vector<sim::live::DriveNode> known;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const sim::ServerModel& server = fleet_.server(i);
      wire::Hello hello;
      hello.node = server.name;
      hello.incarnation = 1;
      hello.agent_version = "0.1.0";
      hello.features = {"psi", "probe"};
      hello.cpu_cores = server.cores;
      hello.memory_bytes = static_cast<std::uint64_t>(server.memory_bytes);
      hello.pod_capacity = 110;
      state_.greet(hello);
      decider_->placements().greeted(hello);
      known.push_back({server, fleet_.background_cores(i), std::nullopt});
      due_.push_back(clock_.mono() + from_seconds(static_cast<double>(i) / static_cast<double>(fleet_.size())));
    }
    ledger_.emplace(known);
    start_ = next_tick_ = clock_.mono();
    next_pod_ = start_ + std::chrono::seconds(2);  // all nodes have sent telemetry by then
  }

  static sim::live::FleetOptions fleet_options(const DemoOptions& options) {
    sim::live::FleetOptions fleet;
    fleet.seed = options.seed;
    fleet.probe_window = 5;
    fleet.rotate_every_s = options.rotate_every_s;
    return fleet;
  }

  void learn(controller::LearningNews news) {
    if (const auto* placed = std::get_if<controller::PlacedNews>(&news)) {
      const controller::LoggedDecision* entry = decider_->log().find(placed->decision_id);
      const bool by_network = entry != nullptr && entry->decision.decided_by == "network";
      open_[placed->decision_id] = {seconds(placed->when - start_), 0, by_network,
                                    by_network && decider_->networks().in_use().learned};
    } else if (const auto* settled = std::get_if<controller::SettledNews>(&news)) {
      if (const auto found = open_.find(settled->decision_id); found != open_.end()) {
        found->second.reward = placement::evaluate(config_.decide.reward, settled->outcome).value;
        judged_.push_back(found->second);
        open_.erase(found);
      }
    } else if (const auto* lost = std::get_if<controller::LostNews>(&news)) {
      open_.erase(lost->decision_id);
    }
    if (trainer_) trainer_->post(std::move(news));
  }

  void sample(std::size_t i, MonoTime now) {
    const std::string& node = fleet_.server(i).name;
    Record record = fleet_.sample(i, now);
    record.incarnation = 1;
    record.wall_ns = to_ns(clock_.wall());
    const controller::RecordNews news = state_.apply(node, record, now);
    for (const std::string& uid : news.appeared) decider_->placements().placed(uid, node, false);
    decider_->outcomes().record(node, record, news);
    for (const std::string& uid : news.gone) decider_->placements().gone(uid, node);
  }

  void create(MonoTime now) {
    const sim::SimPod pod = workload_.next();
    const std::string uid = "pod-" + std::to_string(++created_);
    const sim::KubePod request = sim::kube_pod(pod.spec.request);
    wire::Ask ask;
    ask.pod_uid = uid;
    ask.pod_name = uid;
    ask.pod_namespace = "default";
    ask.app = pod.spec.app;
    ask.cpu_request_cores = pod.spec.request.cpu_cores;
    ask.memory_request_bytes = pod.spec.request.memory_bytes;
    ask.latency_soft_ms = pod.spec.latency_soft_ms;
    ask.latency_hard_ms = pod.spec.latency_hard_ms;
    ask.latency_target = pod.spec.latency_target;
    std::vector<std::size_t> feasible;
    std::vector<sim::KubeNode> kube;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      if (!sim::fits(ledger_->kube_nodes()[i], request)) continue;
      feasible.push_back(i);
      kube.push_back(ledger_->kube_nodes()[i]);
      ask.candidates.push_back(fleet_.server(i).name);
    }
    std::vector<std::int64_t> scores(feasible.size(), 0);
    if (feasible.size() > 1) scores = decider_->asks().ask(ask).scores;
    const auto winner = sim::select_node(kube, request, scores, sim::kExtenderWeight, random_);
    if (!winner) return;
    const std::size_t at = feasible[*winner];
    ledger_->place(at, {uid, request, pod.mean_demand_cores, pod.spec.latency_soft_ms, pod.spec.latency_hard_ms});
    const std::string& node = fleet_.server(at).name;
    if (!fleet_.bind(
            {uid, uid, node, pod.spec.request.cpu_cores, pod.spec.request.memory_bytes, pod.mean_demand_cores, {}},
            now))
      return;
    window_.emplace_back(uid, at);
    decider_->placements().placed(uid, node, false);
  }

  void remove_oldest(MonoTime now) {
    const auto [uid, at] = window_.front();
    window_.pop_front();
    ledger_->remove(uid);
    if (fleet_.unbind(uid, now)) decider_->placements().gone(uid, fleet_.server(at).name);
  }

  DemoOptions options_;
  controller::ControllerConfig config_;
  ManualClock clock_{mono_from_ns(100'000'000'000), wall_from_ns(1'700'000'000'000'000'000)};
  Log log_ = Log::silent();
  controller::ClusterState state_;
  controller::ServingModel networks_;
  PromptPlans plans_;
  std::unique_ptr<controller::Trainer> trainer_;
  controller::DecisionSink decisions_;
  std::optional<controller::Decider> decider_;
  sim::live::Fleet fleet_;
  std::optional<sim::live::Ledger> ledger_;
  sim::Workload workload_;
  std::mt19937_64 random_;
  std::vector<MonoTime> due_;
  std::deque<std::pair<std::string, std::size_t>> window_;
  std::map<std::uint64_t, Judged> open_;
  std::vector<Judged> judged_;
  std::uint64_t created_ = 0;
  MonoTime start_{}, next_pod_{}, next_tick_{};
};

}  // namespace wattle::bench
