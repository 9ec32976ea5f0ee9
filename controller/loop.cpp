#include "controller/loop.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/wire/codec.hpp"
#include "controller/config.hpp"
#include "controller/descriptors.hpp"
#include "controller/kube/watch.hpp"
#include "controller/limits.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/store/background_writer.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/learning.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
using transport::Channel;
constexpr Duration kTick = milliseconds(100);
constexpr Duration kSaveEvery = std::chrono::minutes(5);
constexpr Duration kWatchEvery = std::chrono::seconds(1);
constexpr Duration kBehindAtMost = std::chrono::seconds(30);
// Messages of agents that arrive within this time share a turn of the loop, and its fixed cost.
constexpr milliseconds kTelemetryEvery{5};
// Agents must send a record at least this often, and two before their node becomes stale.
constexpr Duration kLongestTick = std::chrono::seconds(5);

Duration longest_tick(const ControllerConfig& config) {
  return std::min(kLongestTick, from_seconds(config.decide.mask.stale_after_s / 2));
}

// Waits until a socket or descriptor is readable. The last socket is the agents': if `arrived`, their messages begin no
// turn for kTelemetryEvery.
void wait_for_any(std::span<const transport::Socket* const> sockets, std::span<const int> fds, milliseconds patience,
                  bool arrived) {
  if (arrived && patience > kTelemetryEvery) {
    const auto ready = transport::poll(sockets.first(sockets.size() - 1), fds, kTelemetryEvery);
    if (std::find(ready.begin(), ready.end(), true) != ready.end()) return;
    patience -= kTelemetryEvery;
  }
  transport::poll(sockets, fds, patience);
}

// Numbers are not reused after a restart.
std::uint64_t first_decision(const ControllerParts& parts) {
  return 1 + std::max(parts.learning.last_decision_id(), parts.store.last_decision_id());
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::bind(const ControllerParts& parts, Provisioning& provisioning, TaskQueue& tasks,
                                         BackgroundWriter& saver, placement::ClusterModel cluster_model,
                                         const transport::KeyPair& key) {
  transport::ServerOptions options;
  options.key = key;
  options.descriptors_below = descriptors_for_agents(parts.config.descriptor_limit);
  options.endpoint = parts.config.telemetry_endpoint;
  options.channel = Channel::telemetry;
  options.queue = kTelemetryQueue;
  WATTLE_TRY(transport::Server telemetry, transport::Server::bind(parts.context, options));
  options.descriptors_below = descriptors_for_asks(parts.config.descriptor_limit);
  options.endpoint = parts.config.ask_endpoint;
  options.channel = Channel::ask;
  options.queue = kAskQueue;
  options.answers_queue = kAnswersQueue;
  WATTLE_TRY(transport::Server ask, transport::Server::bind(parts.context, options));
  options.queue = transport::ServerOptions{}.queue;
  options.answers_queue = transport::ServerOptions{}.answers_queue;
  options.endpoint = parts.config.feed_endpoint;
  WATTLE_TRY(transport::Publisher feed, transport::Publisher::bind(parts.context, options));
  return std::unique_ptr<Loop>(new Loop(parts, provisioning, tasks, saver, std::move(cluster_model),
                                        std::move(telemetry), std::move(ask), std::move(feed)));
}

Loop::Loop(const ControllerParts& parts, Provisioning& provisioning, TaskQueue& tasks, BackgroundWriter& saver,
           placement::ClusterModel cluster_model, transport::Server telemetry, transport::Server ask,
           transport::Publisher feed)
    : provisioning_(provisioning),
      tasks_(tasks),
      saver_(saver),
      parts_{parts,
             state_,
             decider_,
             telemetry_,
             shims_,
             roles_,
             allow_,
             series_,
             provisioning.requests(),
             provisioning.replicas(),
             provisioning.margins(),
             provisioning.traffic(),
             provisioning.sizing(),
             static_cast<std::uint64_t>(to_ns(parts.clock.wall())),
             parts.clock.mono()},
      telemetry_socket_(std::move(telemetry)),
      ask_socket_(std::move(ask)),
      state_(parts_.config.in_flight_expiry, parts_.config.decide.mask.start_cap.window),
      telemetry_(parts_.clock, parts_.log, *this, &parts_.context.refusals(),
                 parts_.store.on() ? &parts_.store : nullptr, parts_.store.marks()),
      decider_(
          parts_.config, state_, parts_.networks, *this, parts_.clock,
          [this](LearningNews news) { parts_.learning.post(std::move(news)); }, first_decision(parts_),
          std::move(cluster_model)),
      shims_(parts_.config.schedulers),
      join_(state_, decider_, shims_, *this, parts_.clock),
      keeper_(parts_.store, parts_.log),
      owners_(parts_.store, parts_.clock),
      confirmed_(state_, decider_, parts_.store, parts_.clock, parts_.log),
      models_(parts_.learning, parts_.rollout),
      guardrails_(parts_, models_),
      allow_(parts_.allow, parts_.context, parts_.log, parts_.config.descriptor_limit),
      feed_(std::move(feed), parts_.epoch),
      live_(parts_.live),
      answers_(parts_, feed_, guardrails_, models_, keeper_, confirmed_),
      overload_(longest_tick(parts_.config)),
      turns_(parts_, telemetry_socket_, ask_socket_, answers_, tasks_, overload_),
      saved_(parts_.started) {
  decider_.engine().plan_with(&plans_);
  decider_.take(parts_.rollout.spec());
  for (const auto& [uid, pod_namespace] : parts_.store.pod_namespaces_found()) join_.recall(uid, pod_namespace);
  parts_.sleep.on_send([this](const auto& node, const auto& order) { return sleep_link_.order(node, order); });
  for (const wire::Hello& hello : parts_.sleep.remembered()) {
    on_hello(hello);
    state_.disconnect(hello.node);
  }
  guardrails_.restore_monitors();
  keeper_.recall(decider_);
  recall_running();
}

Loop::~Loop() { parts_.sleep.on_send({}); }

Endpoints Loop::endpoints() const {
  return {telemetry_socket_.endpoint(), feed_.socket().endpoint(), ask_socket_.endpoint(), 0, 0};
}

void Loop::run(const std::atomic<bool>& stop, const std::function<void(MonoTime)>& turned) {
  const std::array<const transport::Socket*, 3> sockets = {&ask_socket_, &feed_.socket(), &telemetry_socket_};
  std::vector<int> fds = {tasks_.fd()};
  if (parts_.store.on()) fds.push_back(parts_.store.fd());
  bool more = false, arrived = false;
  while (!stop) {
    const MonoTime slept_from = parts_.clock.mono();
    const milliseconds patience = more ? milliseconds(0) : turns_.patience();
    wait_for_any(sockets, fds, patience, arrived);
    // A loop that does not want to sleep may lose the processor in poll(), too.
    if (patience > milliseconds(0)) overload_.slept(parts_.clock.mono() - slept_from);
    receive_watch();
    turns_.asks();
    arrived = turns_.telemetry();
    behind_ = turns_.telemetry_waits();
    turns_.query();
    turns_.flush();
    send_acks();
    for (const LateReply& late : answers_.late()) turns_.reply(late.route, late.role, late.reply);
    feed_.drain();
    turns_.http();
    const MonoTime now = parts_.clock.mono();
    turned(now);
    if (now - ticked_ >= kTick) tick();
    report_decisions();
    more = feed_.board(decider_, parts_.networks, now);
  }
  save_cluster_model();
  finish(keeper_.flush(decider_.log(), parts_.clock.mono()));
  tasks_.close();
}

void Loop::save_cluster_model() {
  saved_ = parts_.clock.mono();
  saver_.post(parts_.config.data_dir + "/" + std::string(kClusterModelFile),
              decider_.engine().cluster_model().save(state_.view({}, saved_)));
  saver_.post(parts_.config.data_dir + "/" + std::string(kHistoryFile), series_.fleet().save());
  guardrails_.keep_monitors();
}

void Loop::recall_running() {
  for (const PodFacts& pod : parts_.store.running_found()) {
    decider_.recall(pod);
    confirmed_.recall(pod);
  }
}

void Loop::report_decisions() {
  const std::set<std::uint64_t> changed = decider_.log().take_changed();
  feed_.decisions(decider_.log(), changed);
  turns_.finish(keeper_.take(decider_.log(), changed, parts_.clock.mono()));
}

// Ends the connections of revoked keys, so that their messages are no longer accepted; this gives agents the reason.
void Loop::cut(const std::vector<transport::Revoked>& revoked) {
  for (const auto& [key, identity] : revoked) {
    parts_.log.warn("key.revoked", "a key was revoked and its connections were closed",
                    {{"key", key}, {"peer", identity.user_id()}});
    const auto route = telemetry_.revoke(identity.name, key);
    if (!route) continue;
    telemetry_socket_.send(*route, wire::encode(wire::Refusal{"key " + key, "has been revoked",
                                                              "to allow it again, run `wattle keys allow`"}));
  }
}

void Loop::follow_overload() {
  const bool was = telemetry_.shedding().tick > Duration{0};
  const bool changed = overload_.turn(ticked_);
  const Shedding now = overload_.shedding(telemetry_.sessions());
  telemetry_.shed(now);
  if (!changed) return;
  const bool is = now.tick > Duration{0};
  parts_.store.batch_more(is);
  if (!is)
    parts_.log.info("telemetry.recovered", "the controller keeps up again; agents return to their own ticks");
  else if (!was)
    parts_.log.warn("telemetry.overloaded", "records arrive faster than the controller reads them; agents send less",
                    {{"tick_s", seconds(now.tick)}});
}

void Loop::receive_watch() {
  // Nodes last: a pod that is bound to a node was bound after the node appeared.
  auto pods = parts_.watch.take_pods();
  auto nodes = parts_.watch.take_nodes();
  if (join_.take(std::move(nodes), std::move(pods))) feed_.changed();
}

// Acknowledges the store's commits since the last call, each node's once.
void Loop::send_acks() {
  std::vector<Committed> all;
  std::unordered_map<std::string_view, std::size_t> newest;  // by node: its last entry in `all`
  auto committed = parts_.store.committed();
  all.reserve(committed.size());
  for (Committed& news : committed) {
    const auto found = newest.find(news.node);
    if (found != newest.end() && all[found->second].last.incarnation == news.last.incarnation) {
      all[found->second].last = news.last;
      all[found->second].records += news.records;
      continue;
    }
    all.push_back(std::move(news));
    newest[all.back().node] = all.size() - 1;
  }
  for (const Committed& news : all)
    if (const auto answer = telemetry_.committed(news.node, news.last, news.records))
      turns_.acknowledge(news.node, *answer);
}

void Loop::on_hello(const wire::Hello& hello) {
  state_.greet(hello);
  decider_.placements().greeted(hello);
  join_.greeted(hello.node);
  confirmed_.greeted(hello.node);
  parts_.sleep.greeted(hello);
  feed_.changed();
}

std::size_t Loop::fold(const std::string& node, Record& record) {
  return state_.fold(node, record, parts_.clock.mono());
}

void Loop::on_record(const std::string& node, const Record& record) {
  if (record.part == 0) overload_.record(Duration(record.interval_ns));
  show(node, record, state_.apply(node, record, parts_.clock.mono()));
}

void Loop::on_live(const std::string& node, const Record& record) {
  show(node, record, state_.apply(node, record, parts_.clock.mono(), true));
}

void Loop::show(const std::string& node, const Record& record, RecordNews news) {
  if (!news.again) shown_.emplace(Shown{node, record, std::move(news)});
}

bool Loop::step() {
  if (!shown_) return false;
  Shown& now = *shown_;
  const auto some = [](const std::vector<std::string>& uids, std::size_t& at, const auto& each) {
    for (std::size_t i = 0; i < kItemsPerStep && at < uids.size(); ++i) each(uids[at++]);
    return true;
  };
  if (now.appeared < now.news.appeared.size())
    return some(now.news.appeared, now.appeared,
                [&](const std::string& uid) { decider_.placements().placed(uid, now.node, false); });
  const bool late = now.news.turn == Turn::late;
  if (!std::exchange(now.recorded, true)) {
    decider_.outcomes().record(now.node, now.record, now.news);
    guardrails_.drain();
    const Node* known = state_.node(now.node);
    if (!late && known != nullptr && known->parts_seen == now.record.parts) provisioning_.record(*known);
    return true;
  }
  if (!late && !std::exchange(now.minutes, true))
    for (const LimitMinute& minute : now.record.limit_minutes)
      provisioning_.minute(now.node, state_.node(now.node), minute);
  if (!late && now.gone < now.news.gone.size())
    return some(now.news.gone, now.gone, [&](const std::string& uid) { decider_.placements().gone(uid, now.node); });
  if (!late) feed_.state(now.node, state_, parts_.clock.mono());
  shown_.reset();
  return false;
}

void Loop::on_placement(const wire::Placement& placement) {
  if (placement.gone) {
    decider_.placements().gone(placement.pod_uid, placement.node);
  } else {
    decider_.placements().placed(placement.pod_uid, placement.node, false);
  }
}

void Loop::on_left(const placement::PodSpec& pod) {
  owners_.left(pod);
  confirmed_.left(pod);
}

void Loop::on_bound(const kube::Pod& pod) {
  owners_.described(pod);
  provisioning_.described(pod);
  parts_.sleep.described(pod);
}

void Loop::on_elsewhere(const kube::Pod& pod) {
  provisioning_.elsewhere(pod);
  parts_.sleep.described(pod);
}

void Loop::on_gone(const std::string& uid) {
  provisioning_.gone(uid);
  parts_.sleep.gone(uid);
}

void Loop::on_lost(const std::string& node) {
  state_.disconnect(node);
  feed_.state(node, state_, parts_.clock.mono());
  feed_.changed();
}

void Loop::tick() {
  ticked_ = parts_.clock.mono();
  // While messages wait here, no session counts as silent: a cut peer would only reconnect with another handshake and
  // Hello.
  if (!behind_ || ticked_ - expired_ >= kBehindAtMost) {
    telemetry_.expire();
    expired_ = ticked_;
  }
  decider_.expire();
  guardrails_.drain();
  shims_.expire(ticked_);
  follow_overload();
  if (ticked_ - saved_ >= kSaveEvery) save_cluster_model();
  if (ticked_ - watched_ >= kWatchEvery) {
    watched_ = ticked_;
    turns_.expire(ticked_);
    confirmed_.tick();
    guardrails_.watch();
  }
  turns_.finish(provisioning_.tick(state_));
  turns_.finish(parts_.sleep.tick(state_, &telemetry_.clocks()));
  turns_.finish(series_.sample(parts_));
  turns_.finish(live_.turn(parts_, ticked_));
  cut(allow_.look(ticked_));
}

}  // namespace wattle::controller
