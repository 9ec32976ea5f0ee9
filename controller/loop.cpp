#include "controller/loop.hpp"

#include <array>
#include <span>
#include <utility>

#include "common/wire/codec.hpp"
#include "controller/modes/contest_file.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
using transport::Channel;
constexpr milliseconds kPoll{50};
// A disk that is slow for a moment holds back who sends; agents take a controller for dead after 5 s.
constexpr Duration kWaitForStore = std::chrono::seconds(2);
constexpr Duration kTick = milliseconds(100);
constexpr Duration kSaveEvery = std::chrono::minutes(5);
constexpr Duration kWatchEvery = std::chrono::seconds(1);
constexpr Duration kAllowCheck = std::chrono::seconds(1);
constexpr Duration kBehindAtMost = std::chrono::seconds(30);
constexpr int kAsksAtOnce = 64;
constexpr int kTelemetryAtOnce = 8;

std::function<void(LearningNews)> learning(Trainer* trainer) {
  return [trainer](LearningNews news) {
    if (trainer != nullptr) trainer->post(std::move(news));
  };
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::bind(LoopParts parts, const transport::KeyPair& key) {
  transport::ServerOptions options;
  options.key = key;
  options.endpoint = parts.config.telemetry_endpoint;
  options.channel = Channel::telemetry;
  WATTLE_TRY(transport::Server telemetry, transport::Server::bind(parts.context, options));
  options.endpoint = parts.config.ask_endpoint;
  options.channel = Channel::ask;
  WATTLE_TRY(transport::Server ask, transport::Server::bind(parts.context, options));
  options.endpoint = parts.config.feed_endpoint;
  WATTLE_TRY(transport::Publisher feed, transport::Publisher::bind(parts.context, options));
  return std::unique_ptr<Loop>(new Loop(std::move(parts), std::move(telemetry), std::move(ask), std::move(feed)));
}

Loop::Loop(LoopParts parts, transport::Server telemetry, transport::Server ask, transport::Publisher feed)
    : parts_(std::move(parts)),
      telemetry_socket_(std::move(telemetry)),
      ask_socket_(std::move(ask)),
      state_(parts_.config.in_flight_expiry, parts_.config.decide.mask.start_cap.window),
      telemetry_(parts_.clock, parts_.log, *this, &parts_.context.refusals(), parts_.store,
                 parts_.store != nullptr ? parts_.store->marks() : StoreMarks{}),
      decider_(parts_.config, state_, parts_.networks, parts_.clock, learning(parts_.trainer),
               parts_.trainer != nullptr ? parts_.trainer->last_decision_id() + 1 : 1, std::move(parts_.knowledge)),
      shims_(parts_.config.schedulers),
      join_(state_, decider_, shims_, parts_.clock),
      models_(parts_.trainer, parts_.governor),
      feed_(std::move(feed), static_cast<std::uint64_t>(to_ns(parts_.clock.wall()))),
      epoch_(feed_.epoch()),
      started_(parts_.clock.mono()),
      saved_(started_) {
  decider_.plan_with(plans_);
  decider_.take(parts_.governor.standing());
  decider_.on_verdict([this](const ArmNow& arm, double residual) { return parts_.governor.decided(arm, residual); },
                      [this](const ArmNow& arm, double reward) { parts_.governor.judged(arm, reward); });
  parts_.governor.on_change([this](const Standing& standing) {
    const bool judged_anew = !(standing.reward == decider_.standing().reward);
    decider_.take(standing);
    if (judged_anew && parts_.trainer != nullptr) parts_.trainer->post(RewardNews{standing.reward});
    feed_.changed();
  });
  decider_.on_notice([this](const std::string& who, const std::string& what, const std::string& why) {
    parts_.governor.audit(who, what, why);
    if (who == "guard") save_contest();
  });
  if (!parts_.contest.empty())
    if (const Status restored = decider_.restore_contest(parts_.contest); !restored)
      parts_.log.error("contest of network and planner begins anew", {{"error", restored.error()}});
  parts_.governor.on_gate([this] { return decider_.rivals().harm(); });
  parts_.governor.on_network([this](bool promoted) { promoted ? models_.keep_promoted() : models_.bring_back(); });
}

Loop::~Loop() {
  parts_.governor.on_change({});
  parts_.governor.on_network({});
  parts_.governor.on_gate({});
}

Endpoints Loop::endpoints() const {
  return {telemetry_socket_.endpoint(), feed_.socket().endpoint(), ask_socket_.endpoint(), 0, 0};
}

Sources Loop::sources() const {
  return {parts_.config,
          state_,
          decider_,
          telemetry_,
          parts_.networks,
          parts_.clock,
          parts_.trainer,
          parts_.mode_reason,
          epoch_,
          started_,
          parts_.context.refused_handshakes(),
          &parts_.context.refusals(),
          nullptr,
          revoked_keys_,
          nullptr,
          nullptr,
          parts_.store,
          &parts_.governor,
          parts_.watch,
          &parts_.allow,
          &shims_};
}

void Loop::run(const std::atomic<bool>& stop, const std::function<void(MonoTime)>& turned) {
  const std::array<const transport::Socket*, 3> sockets = {&ask_socket_, &feed_.socket(), &telemetry_socket_};
  std::vector<int> fds = {parts_.mailbox.fd()};
  if (parts_.store != nullptr) fds.push_back(parts_.store->fd());
  bool more = false;
  while (!stop) {
    const bool wait = store_is_behind();
    transport::poll(std::span(sockets).first(wait ? 2 : 3), fds, more ? milliseconds(0) : kPoll);
    more = receive_asks();
    behind_ = wait || receive_telemetry();
    more = (behind_ && !wait) || more;
    send_acks();
    send_late_answers();
    feed_.drain();
    parts_.mailbox.run_all();
    receive_watch();
    const MonoTime now = parts_.clock.mono();
    turned(now);
    if (now - ticked_ >= kTick) tick();
    feed_.decisions(decider_);
    more = feed_.board(decider_, parts_.networks, now) || more;
  }
  save_knowledge();
  parts_.mailbox.close();
}

void Loop::watch_energy() {
  watched_ = ticked_;
  ClusterNow now;
  for (const auto& [name, node] : state_.nodes()) {
    ++now.nodes;
    now.requested_cores += state_.view_of(node).requested.cpu_cores;
    if (!node.connected || !node.power_w) continue;
    ++now.watched;
    now.power_w += *node.power_w;
  }
  parts_.governor.watch(now);
}

void Loop::save_knowledge() {
  saved_ = parts_.clock.mono();
  if (parts_.saver != nullptr)
    parts_.saver->post(parts_.config.data_dir + "/" + std::string(kKnowledgeFile), decider_.save_knowledge());
  save_contest();
}

void Loop::save_contest() {
  if (parts_.saver != nullptr)
    parts_.saver->post(parts_.config.data_dir + "/" + std::string(kContestFile), decider_.save_contest());
}

// True: there may be more.
bool Loop::receive_asks() {
  for (int i = 0; i < kAsksAtOnce; ++i) {
    const auto incoming = ask_socket_.receive();
    if (!incoming) return false;
    if (const auto message = answer(*incoming)) ask_socket_.send(incoming->route, wire::encode(*message));
  }
  return true;
}

// What is not read holds back its senders, by TCP; what is read and cannot be kept ends their sessions.
bool Loop::store_is_behind() {
  if (parts_.store == nullptr || !parts_.store->half_full()) {
    store_full_since_.reset();
    return false;
  }
  const MonoTime now = parts_.clock.mono();
  if (!store_full_since_) store_full_since_ = now;
  return now - *store_full_since_ < kWaitForStore;
}

bool Loop::receive_telemetry() {
  for (int i = 0; i < kTelemetryAtOnce; ++i) {
    const auto incoming = telemetry_socket_.receive();
    if (!incoming) return false;
    for (const wire::Message& message : telemetry_.receive(*incoming))
      telemetry_socket_.send(incoming->route, wire::encode(message));
    receive_asks();  // an ask waits for one of these at most, some 70 us
  }
  return true;
}

void Loop::receive_watch() {
  if (parts_.watch == nullptr) return;
  // Nodes last: a pod that is bound to a node was bound after the node came.
  auto pods = parts_.watch->take_pods();
  auto nodes = parts_.watch->take_nodes();
  if (join_.take(std::move(nodes), std::move(pods))) feed_.changed();
}

wire::Message Loop::refuse(const transport::Identity& who, transport::Refused reason, Error why) {
  parts_.context.refusals().add(Channel::ask, reason, who.role);
  if (const auto count = told_.note(who.user_id() + " " + std::string(to_string(reason)), parts_.clock.mono()))
    parts_.log.warn("peer refused", {{"endpoint", "ask"},
                                     {"reason", to_string(reason)},
                                     {"peer", who.user_id()},
                                     {"subject", why.subject},
                                     {"what", why.what},
                                     {"count", *count}});
  return wire::Refusal{std::move(why.subject), std::move(why.what), std::move(why.mend)};
}

// What the store has committed since.
void Loop::send_acks() {
  if (parts_.store == nullptr) return;
  for (const Committed& news : parts_.store->committed())
    if (const auto answer = telemetry_.committed(news.node, news.last, news.records))
      telemetry_socket_.send(answer->route, wire::encode(answer->message));
}

void Loop::send_late_answers() {
  for (const ModelDesk::Done& done : models_.done()) ask_socket_.send(done.route, wire::encode(done.reply));
}

std::optional<wire::Message> Loop::answer(const transport::Incoming& incoming) {
  using transport::Refused;
  const transport::Identity& who = incoming.identity;
  auto message = wire::decode(incoming.bytes);
  if (!message)
    return refuse(who, Refused::malformed,
                  {Errc::malformed, message.error().subject, message.error().what, "find who sends it, or upgrade it"});
  const wire::Kind kind = kind_of(*message);
  const auto* query = std::get_if<wire::Query>(&*message);
  const std::string_view what = query != nullptr ? std::string_view(query->what) : std::string_view();
  if (const auto why = refused(Channel::ask, kind, what, who.role)) {
    if (*why == Refused::kind)
      return refuse(who, *why,
                    {Errc::denied, std::string(to_string(kind)), "is not for the ask endpoint", "send Ask or Query"});
    const Error error{Errc::denied, who.user_id(),
                      "may not " + (query != nullptr ? "query " + query->what : std::string("ask for placements")),
                      "allow the key with role " + transport::roles_text(Channel::ask, kind, what)};
    wire::Message refusal = refuse(who, *why, error);
    if (query == nullptr) return refusal;
    return wire::Reply{query->request_id, false, {}, error.message()};
  }
  if (auto* ask = std::get_if<wire::Ask>(&*message)) {
    shims_.asked(ask->pod_uid, parts_.clock.mono());
    return decider_.ask(std::move(*ask));
  }
  if (query->what.starts_with("model-")) {
    models_.take(*query, who.user_id(), incoming.route);
    return std::nullopt;
  }
  return answer_query(*query, who.user_id());
}

wire::Message Loop::answer_query(const wire::Query& query, const std::string& who) {
  // Whoever listens to the feed may know where it begins.
  if (query.what == "snapshot") return snapshot(query.request_id);
  wire::Reply reply;
  reply.request_id = query.request_id;
  auto body = query.what == "confirm"             ? confirm(query.arguments)
              : query.what == "shim"              ? beat(query.arguments, who)
              : query.what.starts_with("policy-") ? parts_.governor.handle(query.what, query.arguments, who)
                                                  : document(sources(), query.what, query.arguments);
  reply.ok = body.has_value();
  (reply.ok ? reply.body : reply.error) = reply.ok ? std::move(*body) : body.error().message();
  return reply;
}

wire::Snapshot Loop::snapshot(std::uint64_t request_id) {
  const MonoTime now = parts_.clock.mono();
  wire::Snapshot snapshot;
  snapshot.request_id = request_id;
  snapshot.epoch = epoch_;
  snapshot.seq = feed_.state_seq();
  for (const auto& [name, node] : state_.nodes())
    snapshot.states.push_back(state_of(name, node, *state_.node_view(name), now));
  snapshot.board = board_of(decider_, parts_.networks);
  snapshot.board.epoch = epoch_;
  snapshot.board.seq = feed_.boards();
  return snapshot;
}

Result<std::string> Loop::beat(const Arguments& facts, const std::string& who) {
  WATTLE_CHECK(shims_.beat(who, facts, parts_.clock.mono()));
  return std::string("{}");
}

Result<std::string> Loop::confirm(const Arguments& arguments) {
  const auto pod = arguments.find("pod"), node = arguments.find("node");
  if (pod == arguments.end() || node == arguments.end())
    return fail(Errc::malformed, "confirm", "needs pod and node", "wattle confirm POD NODE");
  if (state_.node(node->second) == nullptr)
    return fail(Errc::not_found, "node " + node->second, "no agent of that name has said Hello",
                "`wattle nodes` lists them");
  std::string uid = pod->second;
  if (state_.pod(uid) == nullptr) {
    const LoggedDecision* entry = decider_.log().newest(pod->second);
    if (entry == nullptr)
      return fail(Errc::not_found, "pod " + pod->second, "nobody asked for it", "ask first, or give the pod's UID");
    uid = entry->decision.pod_uid;
  }
  if (uid.empty())
    return fail(Errc::malformed, "confirm", "the pod has no UID", "ask with a UID: placements are told apart by it");
  decider_.placed(uid, node->second, true);
  return std::string(R"({"confirmed": true})");
}

void Loop::on_hello(const wire::Hello& hello) {
  state_.greet(hello);
  decider_.greeted(hello);
  join_.greeted(hello.node);
  feed_.changed();
}

void Loop::on_record(const std::string& node, const Record& record) {
  show(node, record, state_.apply(node, record, parts_.clock.mono()));
}

void Loop::on_live(const std::string& node, const Record& record) {
  show(node, record, state_.apply(node, record, parts_.clock.mono(), true));
}

void Loop::show(const std::string& node, const Record& record, const RecordNews& news) {
  if (news.again) return;
  for (const std::string& uid : news.appeared) decider_.placed(uid, node, false);
  decider_.record(node, record, news);
  if (news.turn == Turn::late) return;
  for (const std::string& uid : news.gone) decider_.gone(uid, node);
  feed_.state(node, state_, parts_.clock.mono());
}

void Loop::on_placement(const wire::Placement& placement) {
  if (placement.gone) {
    decider_.gone(placement.pod_uid, placement.node);
  } else {
    decider_.placed(placement.pod_uid, placement.node, false);
  }
}

void Loop::on_lost(const std::string& node) {
  state_.disconnect(node);
  feed_.state(node, state_, parts_.clock.mono());
  feed_.changed();
}

void Loop::tick() {
  ticked_ = parts_.clock.mono();
  // While messages wait here nobody is silent: who was cut for it would only come back with a handshake and a Hello more.
  if (!behind_ || ticked_ - expired_ >= kBehindAtMost) {
    telemetry_.expire();
    expired_ = ticked_;
  }
  decider_.expire();
  shims_.expire(ticked_);
  if (ticked_ - saved_ >= kSaveEvery) save_knowledge();
  if (ticked_ - watched_ >= kWatchEvery) watch_energy();
  if (ticked_ - allow_checked_ < kAllowCheck) return;
  allow_checked_ = ticked_;
  reload_allow_list();
}

}  // namespace wattle::controller
