#include "controller/ingest/telemetry.hpp"

#include <algorithm>
#include <utility>

#include "common/version.hpp"
#include "common/wire/codec.hpp"

namespace wattle::controller {
namespace {

using transport::Channel;
using transport::Refused;
constexpr Duration kDeadAfter = std::chrono::seconds(5);
constexpr std::uint64_t kLeastSessionCredit = 4;
constexpr std::uint64_t kSharedCredit = 20'000;  // over all sessions
constexpr std::uint64_t kFairPerS = 256;         // records of one node; a node that sends more gets
constexpr std::uint64_t kThrottledCredit = 16;   // this per commit
constexpr std::uint64_t kMaxBatch = 64;
constexpr std::uint64_t kMaxLivePerS = 256;  // records: ten intervals of a second, of 25 parts each
constexpr std::uint64_t kPingsPerS = 8;      // of a session that are answered ahead of its other messages
constexpr std::uint64_t kStudentsPerS = 50;  // of 0.2 MB each
constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{1} << 56, kMostPodsOfNode = 1'000'000;

}  // namespace

Telemetry::Telemetry(const Clock& clock, const Log& log, TelemetrySink& sink, transport::RefusalCounts* refusals,
                     RecordStore* store, const StoreMarks& marks)
    : clock_(clock),
      log_(log),
      sink_(sink),
      refusals_(refusals),
      duplicates_(clock, log),
      reader_(log, sink, store, figures_) {
  for (const auto& [node, mine] : marks)
    for (const auto& [incarnation, seq] : mine) history_[node].marks[incarnation] = {seq, seq};
}

std::vector<wire::Message> Telemetry::refuse(const transport::Incoming& from, std::string subject, std::string what,
                                             std::string fix, Refused reason) {
  NodeHistory& history = history_[from.identity.name];
  if (refusals_ != nullptr) refusals_->add(Channel::telemetry, reason, from.identity.role);
  if (const auto count = reported_.note(from.identity.user_id() + " " + std::string(to_string(reason)), clock_.mono()))
    log_.warn("peer.refused", "a message of a peer was rejected",
              {{"endpoint", "telemetry"},
               {"reason", to_string(reason)},
               {"peer", from.identity.user_id()},
               {"subject", subject},
               {"what", what},
               {"count", *count}});
  history.cut_route = from.route;
  const auto session = sessions_.find(from.identity.name);
  if (session != sessions_.end() && session->second.route == from.route) end_session(from.identity.name);
  return {wire::Refusal{std::move(subject), std::move(what), std::move(fix)}};
}

bool Telemetry::expects(const transport::Incoming& incoming) {
  const auto session = sessions_.find(incoming.identity.name);
  if (session != sessions_.end() && session->second.route == incoming.route) {
    session->second.last_message = clock_.mono();
    return true;
  }
  const auto history = history_.find(incoming.identity.name);
  if (history == history_.end() || history->second.cut_route != incoming.route) return true;
  const auto head = wire::peek(incoming.bytes);
  return head && head->kind == wire::Kind::hello;
}

std::optional<wire::Message> Telemetry::answer_ping(const transport::Incoming& incoming, bool placement_waits) {
  const auto found = sessions_.find(incoming.identity.name);
  if (found == sessions_.end() || found->second.route != incoming.route) return std::nullopt;
  count_in_second(found->second, 0);
  if (++found->second.pings_in_second > kPingsPerS) return std::nullopt;
  const auto message = wire::decode(incoming.bytes);
  const auto* ping = message ? std::get_if<wire::Ping>(&*message) : nullptr;
  if (ping == nullptr) return std::nullopt;
  return wire::Pong{placement_waits ? 0 : ping->nonce, ping->mono_ns, to_ns(clock_.mono()), to_ns(clock_.wall())};
}

std::vector<wire::Message> Telemetry::refuse_busy(const transport::Incoming& incoming) {
  return refuse(incoming, incoming.identity.user_id(), "exceeds the limit of waiting messages of a peer",
                "it can reconnect in a moment", Refused::busy);
}

std::vector<wire::Message> Telemetry::receive(const transport::Incoming& incoming) {
  reader_.bytes().clear();
  auto message = wire::decode(incoming.bytes, {}, &reader_.bytes());
  if (!message) {
    // A newer agent may send kinds that this build does not know. Only those are ignored.
    if (message.error().code == Errc::unsupported) return {};
    const auto history = history_.find(incoming.identity.name);
    if (history != history_.end() && history->second.cut_route == incoming.route) return {};
    return refuse(incoming, message.error().subject, message.error().what,
                  "upgrade the agent, or find the other sender", Refused::malformed);
  }
  const wire::Kind kind = kind_of(*message);
  if (const auto why = refused(Channel::telemetry, kind, {}, incoming.identity.role)) {
    if (*why == Refused::kind)
      return refuse(incoming, std::string(to_string(kind)), "is not accepted on the telemetry endpoint",
                    "send Hello, Samples, Live, Ping, Pong, Placement or Goodbye", *why);
    return refuse(incoming, incoming.identity.user_id(), "is not an agent's key; only agents send telemetry",
                  "allow the key with role agent, or connect to the ask endpoint", *why);
  }
  if (const auto* hello = std::get_if<wire::Hello>(&*message)) return on_hello(incoming, *hello);

  const std::string& node = incoming.identity.name;
  const auto found = sessions_.find(node);
  if (found == sessions_.end() || found->second.route != incoming.route) {
    if (history_[node].cut_route == incoming.route) return {};
    const bool other = found != sessions_.end();
    return refuse(incoming, node, other ? "another agent of this node has taken over" : "no session: Hello comes first",
                  other ? "run one agent per node, with one key each" : "send Hello");
  }
  Session& session = found->second;
  session.last_message = clock_.mono();
  if (kind == wire::Kind::samples || kind == wire::Kind::live) session.granted = 0;  // the agent continues
  if (auto* samples = std::get_if<wire::Samples>(&*message)) return on_samples(incoming, session, *samples);
  if (auto* live = std::get_if<wire::Live>(&*message)) return on_live(incoming, session, *live);
  if (const auto* ping = std::get_if<wire::Ping>(&*message))
    return {wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock_.mono()), to_ns(clock_.wall())}};
  if (std::holds_alternative<wire::Pong>(*message)) return {};
  if (const auto* placement = std::get_if<wire::Placement>(&*message)) return on_placement(incoming, *placement);
  if (const auto* goodbye = std::get_if<wire::Goodbye>(&*message)) return on_goodbye(incoming, session, *goodbye);
  return {};  // no other kind is allowed here
}

// Returns the mark up to which the agent need not send again. Records are ordered by their marks.
RecordMark Telemetry::held(const NodeHistory& history, std::uint64_t incarnation) const {
  RecordMark mark;
  for (const auto& [mine, seqs] : history.marks)
    if (mine <= incarnation && seqs.committed > 0) mark = {mine, seqs.committed};
  return mark;
}

std::vector<wire::Message> Telemetry::on_hello(const transport::Incoming& from, const wire::Hello& hello) {
  const std::string& node = from.identity.name;
  if (hello.node != node)
    return refuse(from, hello.node, "the key is allowed for node " + node,
                  "set `node: " + node + "` on the agent, or allow the key for " + hello.node, Refused::node);
  const std::uint64_t version = std::min(hello.version_max, wire::kVersionMax);
  if (version < std::max(hello.version_min, wire::kVersionMin))
    return refuse(from, node,
                  "supports wire versions " + std::to_string(hello.version_min) + " to " +
                      std::to_string(hello.version_max) + ", this controller " + std::to_string(wire::kVersionMin) +
                      " to " + std::to_string(wire::kVersionMax),
                  "upgrade the older of the two");
  if (hello.incarnation == 0 || hello.incarnation > kMaxNumber)
    return refuse(from, node, "has an invalid incarnation: " + std::to_string(hello.incarnation),
                  "remove the file `incarnation` in its state_dir and restart it");
  if (hello.cpu_cores < 0 || hello.cpu_cores > kMaxCores)
    return refuse(from, node, "reports " + std::to_string(hello.cpu_cores) + " cores", "see `wattle doctor`");
  if (hello.memory_bytes > kMostMemoryBytes || hello.pod_capacity > kMostPodsOfNode)
    return refuse(from, node,
                  "reports " + std::to_string(hello.memory_bytes) + " bytes of memory and room for " +
                      std::to_string(hello.pod_capacity) + " pods",
                  "correct pod_capacity in its configuration, or see `wattle doctor`");
  for (const double capacity : {hello.link_bytes_per_s, hello.disk_bytes_per_s})
    if (!(capacity >= 0 && capacity <= kMaxBytesPerS))
      return refuse(from, node, "reports links or disks with " + std::to_string(capacity) + " bytes per second",
                    "correct link_bytes_per_s and disk_bytes_per_s in its configuration");
  const MonoTime now = clock_.mono();
  NodeHistory& history = history_[node];
  constexpr const char *kTwo = "two agents use this node's key and replace each other",
                       *kStopOne = "stop one of them and wait a minute";
  if (duplicates_.is_cut(node)) return refuse(from, node, kTwo, kStopOne);

  const auto session = sessions_.find(node);
  const bool other = session != sessions_.end() && session->second.route != from.route;
  const bool other_lives = other && now - session->second.last_message < kDeadAfter;
  if (other_lives && hello.incarnation < session->second.incarnation) {
    duplicates_.knock(node);
    return refuse(from, node, "a later incarnation of this agent is connected",
                  "run one agent per node, or stop the other one");
  }
  if (other_lives && duplicates_.take_over(node, hello.incarnation == session->second.incarnation)) {
    end_session(node);
    return refuse(from, node, kTwo, kStopOne);
  }
  const RecordMark kept = held(history, hello.incarnation);
  sessions_[node] = {from.route, hello.incarnation, now, from.key, kept, now};
  sessions_[node].version = version;
  history.cut_route.clear();
  history.refused_reported = history.folded_reported = false;
  sink_.on_hello(hello);
  if (now - std::exchange(history.welcomed, now) >= std::chrono::seconds(1))
    log_.info("agent.welcomed", "an agent has connected",
              {{"node", node}, {"agent_version", hello.agent_version}, {"incarnation", hello.incarnation}});
  wire::Welcome welcome;
  welcome.version = version;
  welcome.controller_version = kVersion;
  welcome.max_batch = kMaxBatch;
  welcome.max_message_bytes = wire::Limits{}.message_bytes;
  welcome.credit = credit(sessions_[node]);
  welcome.acked_incarnation = kept.incarnation;
  welcome.acked_seq = kept.seq;
  return {welcome};
}

std::uint64_t Telemetry::credit(const Session& session) const {
  std::uint64_t share = std::clamp(kSharedCredit / sessions_.size(), kLeastSessionCredit, kCredit);
  if (shedding_.credit > 0) share = std::min(share, shedding_.credit);
  return session.in_second > kFairPerS ? std::min(share, kThrottledCredit) : share;
}

std::optional<Answer> Telemetry::committed(const std::string& node, const RecordMark& last, std::size_t records) {
  NodeHistory& history = history_[node];
  history.pending -= std::min(history.pending, records);
  if (const auto mine = history.marks.find(last.incarnation); mine != history.marks.end())
    mine->second.committed = std::max(mine->second.committed, last.seq);
  const auto found = sessions_.find(node);
  if (found == sessions_.end()) return std::nullopt;
  Session& session = found->second;
  // Records of the node's earlier session are not acknowledged to a session that did not send them.
  const RecordMark mark = history.pending == 0 ? session.received : last;
  if (mark == RecordMark{} || mark > session.received) return std::nullopt;
  return Answer{session.route, ack(node, session, mark)};
}

bool Telemetry::may_send_student() {
  const MonoTime now = clock_.mono();
  if (now - students_began_ >= std::chrono::seconds(1)) {
    students_began_ = now;
    students_in_second_ = 0;
  }
  return students_in_second_++ < kStudentsPerS;
}

wire::Ack Telemetry::ack(const std::string& node, Session& session, const RecordMark& mark) {
  wire::Ack ack{mark.incarnation, mark.seq, credit(session), sink_.pod_levels(node), sink_.margins(node)};
  ack.tick_ms = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(shedding_.tick).count());
  const auto student = sink_.student(node);
  if (!student) {
    session.student_version = 0;
    return ack;
  }
  const bool has = session.student_version == student->version;
  if (!has && !may_send_student()) {
    ack.student_version = session.student_version;
    return ack;
  }
  ack.student_version = student->version;
  if (!has) ack.student = student->parts;
  session.student_version = student->version;
  return ack;
}

std::vector<wire::Message> Telemetry::on_samples(const transport::Incoming& from, Session& session,
                                                 wire::Samples& samples) {
  const std::string& node = from.identity.name;
  if (const auto complaint = reader_.take_gaps(node, session, history_[node], samples.gaps))
    return refuse(from, node, complaint->what, complaint->fix);
  if (samples.records.empty()) return {};
  count_in_second(session, samples.records.size());
  clocks_.see(node, samples.records.back(), session.incarnation, clock_);
  reader_.begin(from, std::move(samples.records), false);
  return read_on();
}

std::vector<wire::Message> Telemetry::read_on() {
  const transport::Incoming& from = reader_.from();
  const std::string& node = from.identity.name;
  Session& session = sessions_.at(node);
  NodeHistory& history = history_[node];
  const bool live = reader_.live();
  if (const auto complaint = reader_.read_on(session, history))
    return refuse(from, node, complaint->what, complaint->fix);
  // Otherwise the acknowledgement follows the store's next commit of this node's records.
  if (reader_.reads() || live || history.pending > 0 || session.received == RecordMark{}) return {};
  return {ack(node, session, session.received)};
}

void Telemetry::count_in_second(Session& session, std::size_t records) const {
  const MonoTime now = clock_.mono();
  if (now - session.second_began >= std::chrono::seconds(1)) {
    session.second_began = now;
    session.in_second = session.live_in_second = session.pings_in_second = 0;
  }
  session.in_second += records;
}

// Shown to current readers only; neither the mark nor the store includes it.
std::vector<wire::Message> Telemetry::on_live(const transport::Incoming& from, Session& session, wire::Live& live) {
  const std::string& node = from.identity.name;
  count_in_second(session, 0);
  session.live_in_second += std::max<std::size_t>(1, live.records.size());
  if (session.live_in_second > kMaxLivePerS)
    return refuse(from, node, "sends live values too often", "upgrade the agent");
  if (!live.records.empty()) clocks_.see(node, live.records.back(), session.incarnation, clock_);
  reader_.begin(from, std::move(live.records), true);
  return read_on();
}

std::vector<wire::Message> Telemetry::on_placement(const transport::Incoming& from, const wire::Placement& placement) {
  if (placement.node != from.identity.name || placement.pod_uid.empty()) {
    return refuse(from, placement.node, "only the node's own agent reports placements, with the pod's UID",
                  "set `node: " + from.identity.name + "` on the agent", Refused::node);
  }
  sink_.on_placement(placement);
  return {};
}

std::vector<wire::Message> Telemetry::on_goodbye(const transport::Incoming& from, Session& session,
                                                 const wire::Goodbye& goodbye) {
  if (goodbye.refused.size() > wire::Goodbye::kMaxRefusedBytes)
    return refuse(from, "goodbye.refused",
                  "is longer than " + std::to_string(wire::Goodbye::kMaxRefusedBytes) + " bytes",
                  "upgrade the agent, or find the other sender");
  session.granted = goodbye.refused.empty() ? goodbye.operation : 0;  // a driver may turn the node off before the grant
  sink_.on_goodbye(from.identity.name, goodbye);
  return {};
}

Result<Answer> Telemetry::order(const std::string& node, const wire::SleepOrder& order) {
  const auto found = sessions_.find(node);
  if (found == sessions_.end())
    return fail(Errc::unavailable, node, "its agent is not connected", "start wattle-agent on this node");
  Session& session = found->second;
  if (session.version < wire::kSleepSince)
    return fail(Errc::unsupported, node,
                "its agent uses wire version " + std::to_string(session.version) + ", and sleep needs " +
                    std::to_string(wire::kSleepSince),
                "upgrade wattle-agent on this node");
  // An order without a number concerns only energy settings.
  if (order.operation != 0) session.granted = order.granted ? order.operation : 0;
  return Answer{session.route, order};
}

void Telemetry::end_session(const std::string& node) {
  sessions_.erase(node);
  sink_.on_lost(node);
}

std::optional<std::string> Telemetry::revoke(const std::string& node, const std::string& key) {
  const auto found = sessions_.find(node);
  if (found == sessions_.end() || found->second.key != key) return std::nullopt;
  const std::string route = found->second.route;
  history_[node].cut_route = route;
  end_session(node);
  return route;
}

void Telemetry::expire() {
  const MonoTime now = clock_.mono();
  if (now < none_is_silent_before_) return;
  std::vector<std::string> silent;
  none_is_silent_before_ = now + kDeadAfter;
  for (const auto& [node, session] : sessions_) {
    if (now - session.last_message >= kDeadAfter) {
      silent.push_back(node);
    } else {
      none_is_silent_before_ = std::min(none_is_silent_before_, session.last_message + kDeadAfter);
    }
  }
  for (const std::string& node : silent) {
    if (const std::uint64_t operation = sessions_.at(node).granted; operation != 0)
      log_.info("agent.asleep", "an agent has ended its session because its node goes to sleep",
                {{"node", node}, {"operation", operation}});
    else
      log_.warn("agent.silent", "an agent has stopped sending",
                {{"node", node}, {"for_s", wattle::seconds(kDeadAfter)}});
    end_session(node);
  }
}

}  // namespace wattle::controller
