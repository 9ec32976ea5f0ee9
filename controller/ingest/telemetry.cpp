#include "controller/ingest/telemetry.hpp"

#include <algorithm>
#include <utility>

#include "common/version.hpp"
#include "common/wire/codec.hpp"
#include "controller/ingest/validate.hpp"

namespace wattle::controller {
namespace {

using std::chrono::seconds;
using transport::Channel;
using transport::Refused;
constexpr Duration kDeadAfter = seconds(5);
constexpr Duration kTakeoverWindow = seconds(60);
constexpr Duration kCutFor = seconds(60);
constexpr std::size_t kMaxTakeovers = 6;
constexpr Duration kCutForAtMost = seconds(600);
constexpr Duration kConflictLasts = seconds(600);
constexpr std::size_t kKnocks = 3;
constexpr std::uint64_t kCredit = 256;  // at most
constexpr std::uint64_t kLeastCredit = 4;
constexpr std::uint64_t kSharedCredit = 20'000;   // of all sessions
constexpr std::uint64_t kFairPerS = 256;          // records of one node; who sends more gets
constexpr std::uint64_t kThrottledCredit = 16;    // a commit
constexpr std::size_t kMaxPending = 2 * kCredit;  // of one node: what it was given, and as much of its last session
constexpr std::uint64_t kMaxBatch = 64;
constexpr std::uint64_t kMaxLivePerS = 256;  // records: ten intervals of a second, of 25 parts each
constexpr const char* kBeforeContact = "before the first contact";  // nobody knows what was there
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;  // incarnations and numbers: a store holds them signed

void forget_before(std::vector<MonoTime>& times, MonoTime since) {
  std::erase_if(times, [&](MonoTime when) { return when < since; });
}

}  // namespace

Telemetry::Telemetry(const Clock& clock, const Log& log, TelemetrySink& sink, transport::RefusalCounts* refusals,
                     RecordStore* store, const StoreMarks& marks)
    : clock_(clock), log_(log), sink_(sink), refusals_(refusals), store_(store) {
  for (const auto& [node, mine] : marks)
    for (const auto& [incarnation, seq] : mine) history_[node].marks[incarnation] = {seq, seq};
}

std::vector<wire::Message> Telemetry::refuse(const transport::Incoming& from, std::string subject, std::string what,
                                             std::string mend, Refused reason) {
  History& history = history_[from.identity.name];
  ++figures_.refusals;
  if (refusals_ != nullptr) refusals_->add(Channel::telemetry, reason);
  if (const auto count = told_.note(from.identity.user_id() + " " + std::string(to_string(reason)), clock_.mono()))
    log_.warn("peer refused", {{"endpoint", "telemetry"},
                               {"reason", to_string(reason)},
                               {"peer", from.identity.user_id()},
                               {"subject", subject},
                               {"what", what},
                               {"count", *count}});
  history.cut_route = from.route;
  const auto session = sessions_.find(from.identity.name);
  if (session != sessions_.end() && session->second.route == from.route) end_session(from.identity.name);
  return {wire::Refusal{std::move(subject), std::move(what), std::move(mend)}};
}

std::vector<wire::Message> Telemetry::receive(const transport::Incoming& incoming) {
  record_bytes_.clear();
  auto message = wire::decode(incoming.bytes, {}, &record_bytes_);
  if (!message) {
    ++figures_.garbage;
    // A newer agent may send kinds that this build does not know; only those may be passed over.
    if (message.error().code == Errc::unsupported) return {};
    const auto history = history_.find(incoming.identity.name);
    if (history != history_.end() && history->second.cut_route == incoming.route) return {};
    return refuse(incoming, message.error().subject, message.error().what, "upgrade the agent, or find who else sends",
                  Refused::malformed);
  }
  const wire::Kind kind = kind_of(*message);
  if (const auto why = refused(Channel::telemetry, kind, {}, incoming.identity.role)) {
    ++figures_.garbage;
    if (*why == Refused::kind)
      return refuse(incoming, std::string(to_string(kind)), "is not for the telemetry endpoint",
                    "send Hello, Samples, Live, Ping, Pong or Placement", *why);
    return refuse(incoming, incoming.identity.user_id(), "is not an agent's key, and only agents send telemetry",
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
  session.heard = clock_.mono();
  if (auto* samples = std::get_if<wire::Samples>(&*message)) return on_samples(incoming, session, *samples);
  if (auto* live = std::get_if<wire::Live>(&*message)) return on_live(incoming, session, *live);
  if (const auto* ping = std::get_if<wire::Ping>(&*message))
    return {wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock_.mono()), to_ns(clock_.wall())}};
  if (std::holds_alternative<wire::Pong>(*message)) return {};
  if (const auto* placement = std::get_if<wire::Placement>(&*message)) return on_placement(incoming, *placement);
  return {};  // no other kind has a right to be here
}

// By equals, which no agent that starts anew is; or by higher ones, if lower ones have shown that they live on.
bool Telemetry::cut_if_alternating(const std::string& node, History& history, bool equals) {
  const MonoTime now = clock_.mono();
  forget_before(history.knocks, now - kConflictLasts);
  if (!equals && history.knocks.empty()) return false;
  forget_before(history.takeovers, now - kTakeoverWindow);
  history.takeovers.push_back(now);
  if (history.takeovers.size() <= kMaxTakeovers) return false;
  const bool again = history.conflict_at && now - *history.conflict_at < 2 * kConflictLasts;
  history.cut_for = again ? std::min(2 * history.cut_for, kCutForAtMost) : kCutFor;
  history.cut_until = now + history.cut_for;
  history.conflict_at = now;
  history.takeovers.clear();
  ++figures_.conflicts;
  log_.error("two agents with one key take over from each other: both are cut",
             {{"node", node}, {"for_s", wattle::seconds(history.cut_for)}});
  end_session(node);
  return true;
}

// One may be the last breath of an agent that was started anew; several are a second agent.
void Telemetry::on_knock(const std::string& node, History& history) {
  const MonoTime now = clock_.mono();
  forget_before(history.knocks, now - kConflictLasts);
  if (history.knocks.empty()) history.knocks_told = false;
  history.knocks.push_back(now);
  if (history.knocks.size() < kKnocks) return;
  history.conflict_at = now;
  if (std::exchange(history.knocks_told, true)) return;
  ++figures_.conflicts;
  log_.error("two agents use one key: the one that was started later is heard, the other refused", {{"node", node}});
}

std::vector<std::string> Telemetry::conflicts() const {
  std::vector<std::string> nodes;
  for (const auto& [node, history] : history_)
    if (history.conflict_at && clock_.mono() - *history.conflict_at < kConflictLasts) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// What the agent need not send again: its records' order is that of their marks.
RecordMark Telemetry::held(const History& history, std::uint64_t incarnation) const {
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
                  "speaks wire versions " + std::to_string(hello.version_min) + " to " +
                      std::to_string(hello.version_max) + ", this controller " + std::to_string(wire::kVersionMin) +
                      " to " + std::to_string(wire::kVersionMax),
                  "upgrade the older of the two");
  if (hello.incarnation == 0 || hello.incarnation > kMaxNumber)
    return refuse(from, node, "has no sensible incarnation: " + std::to_string(hello.incarnation),
                  "remove the file `incarnation` in its state_dir and start it again");
  if (hello.cpu_cores < 0 || hello.cpu_cores > kMaxCores)
    return refuse(from, node, "says it has " + std::to_string(hello.cpu_cores) + " cores", "see `wattle doctor`");
  const MonoTime now = clock_.mono();
  History& history = history_[node];
  if (history.cut_until && now < *history.cut_until)
    return refuse(from, node, "two agents use this node's key and take over from each other",
                  "stop one of them and wait a minute");
  history.cut_until.reset();

  const auto session = sessions_.find(node);
  const bool other = session != sessions_.end() && session->second.route != from.route;
  const bool other_lives = other && now - session->second.heard < kDeadAfter;
  if (other_lives && hello.incarnation < session->second.incarnation) {
    on_knock(node, history);
    return refuse(from, node, "a later incarnation of this agent is connected",
                  "run one agent per node, or stop the other one");
  }
  if (other) ++figures_.takeovers;
  if (other_lives && cut_if_alternating(node, history, hello.incarnation == session->second.incarnation))
    return refuse(from, node, "two agents use this node's key and take over from each other",
                  "stop one of them and wait a minute");
  const RecordMark kept = held(history, hello.incarnation);
  sessions_[node] = {from.route, hello.incarnation, now, from.key, kept, now};
  history.cut_route.clear();
  history.refused_told = false;
  sink_.on_hello(hello);
  log_.info("agent welcomed",
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

std::uint64_t Telemetry::credit(Session& session) {
  const std::uint64_t share = std::clamp(kSharedCredit / sessions_.size(), kLeastCredit, kCredit);
  const bool much = session.in_second > kFairPerS;
  if (much && !session.throttled) ++figures_.throttled;
  session.throttled = much;
  return much ? std::min(share, kThrottledCredit) : share;
}

// Records that were left out before this one.
std::optional<StoreGap> Telemetry::gap_before(const std::string& node, const History& history,
                                              const RecordMark& mark) const {
  const auto mine = history.marks.find(mark.incarnation);
  const std::uint64_t last = mine == history.marks.end() ? 0 : mine->second.taken;
  if (mark.seq <= last + 1) return std::nullopt;
  return StoreGap{node, mark.incarnation, last + 1, mark.seq - 1,
                  history.marks.empty() ? kBeforeContact : "never came"};
}

void Telemetry::set_taken(History& history, const RecordMark& mark) const {
  Seqs& seqs = history.marks[mark.incarnation];
  seqs.taken = mark.seq;
  if (store_ == nullptr) seqs.committed = mark.seq;
  while (history.marks.size() > kMarksPerNode) history.marks.erase(history.marks.begin());
}

// What the agent says is lost, as far as later numbers have not told.
Telemetry::Taken Telemetry::take_gap(const std::string& node, History& history, const RecordGap& gap) {
  const auto mine = history.marks.find(gap.incarnation);
  const std::uint64_t taken = mine == history.marks.end() ? 0 : mine->second.taken;
  const bool over = mine == history.marks.end() && history.marks.size() >= kMarksPerNode &&
                    gap.incarnation < history.marks.begin()->first;
  if (over || gap.last_seq <= taken) return Taken::no;
  if (store_ != nullptr && store_->full()) return Taken::full;
  const auto skipped = gap_before(node, history, {gap.incarnation, gap.first_seq});
  const auto keep = [&](StoreGap lost) {
    if (lost.why != kBeforeContact) figures_.missing += lost.records();
    const RecordMark end{gap.incarnation, lost.last_seq};
    set_taken(history, end);
    if (store_ == nullptr) return;
    store_->add({node, end, false, {}, {}, std::move(lost)});
    ++history.pending;
  };
  if (skipped) keep(*skipped);
  keep({node, gap.incarnation, std::max(gap.first_seq, taken + 1), gap.last_seq, "lost by the agent"});
  return Taken::yes;
}

Telemetry::Taken Telemetry::take(const std::string& node, History& history, Record& record, std::string_view bytes) {
  const RecordMark mark{record.incarnation, record.seq};
  const auto mine = history.marks.find(mark.incarnation);
  const bool over = mine == history.marks.end() && history.marks.size() >= kMarksPerNode &&
                    mark.incarnation < history.marks.begin()->first;
  if (over || (mine != history.marks.end() && mark.seq <= mine->second.taken)) {
    ++figures_.duplicates;
    return Taken::no;
  }
  if (store_ != nullptr && store_->full()) return Taken::full;
  StoreItem item{node, mark, false, {}, {}, gap_before(node, history, mark)};
  if (item.gap && item.gap->why != kBeforeContact) figures_.missing += item.gap->records();
  set_taken(history, mark);
  const auto valid = validate(record);
  if (valid) {
    ++figures_.records;
    sink_.on_record(node, record);
  } else {
    ++figures_.refused;
    if (!std::exchange(history.refused_told, true))
      log_.warn("record refused, and more of this node's may be", {{"node", node}, {"error", valid.error()}});
  }
  if (store_ == nullptr) return Taken::yes;
  item.refused = !valid;
  item.bytes = bytes;
  item.record = std::move(record);
  store_->add(std::move(item));
  ++history.pending;
  return Taken::yes;
}

std::vector<wire::Message> Telemetry::on_samples(const transport::Incoming& from, Session& session,
                                                 wire::Samples& samples) {
  const std::string& node = from.identity.name;
  History& history = history_[node];
  for (const RecordGap& gap : samples.gaps) {
    const bool sensible = gap.first_seq > 0 && gap.first_seq <= gap.last_seq && gap.last_seq <= kMaxNumber &&
                          gap.incarnation < session.incarnation;
    if (!sensible) return refuse(from, node, "tells of gaps that cannot be", "upgrade the agent");
    if (take_gap(node, history, gap) == Taken::full)
      return refuse(from, node, "its records cannot be kept fast enough", "it will be welcome again in a moment");
  }
  if (samples.records.empty()) return {};
  count_in_second(session, samples.records.size());
  clocks_.see(node, samples.records.back(), session.incarnation, clock_);
  for (std::size_t i = 0; i < samples.records.size(); ++i) {
    Record& record = samples.records[i];
    const RecordMark mark{record.incarnation, record.seq};
    if (record.incarnation > session.incarnation || record.seq == 0 || record.seq > kMaxNumber) {
      ++figures_.refused;
      continue;
    }
    if (history.pending >= kMaxPending)
      return refuse(from, node, "sends more records than it was given credit for", "upgrade the agent");
    if (take(node, history, record, record_bytes_[i]) == Taken::full)
      return refuse(from, node, "its records cannot be kept fast enough", "it will be welcome again in a moment");
    session.received = std::max(session.received, mark);
  }
  // Else the store's next commit of this node's records says so.
  if (history.pending > 0 || session.received == RecordMark{}) return {};
  return {wire::Ack{session.received.incarnation, session.received.seq, credit(session)}};
}

void Telemetry::count_in_second(Session& session, std::size_t records) const {
  const MonoTime now = clock_.mono();
  if (now - session.second_began >= seconds(1)) {
    session.second_began = now;
    session.in_second = session.live_in_second = 0;
  }
  session.in_second += records;
}

// For those who look now: the mark and the store know nothing of it.
std::vector<wire::Message> Telemetry::on_live(const transport::Incoming& from, Session& session, wire::Live& live) {
  const std::string& node = from.identity.name;
  count_in_second(session, 0);
  session.live_in_second += std::max<std::size_t>(1, live.records.size());
  if (session.live_in_second > kMaxLivePerS)
    return refuse(from, node, "tells what is new more often than it can be", "upgrade the agent");
  History& history = history_[node];
  if (!live.records.empty()) clocks_.see(node, live.records.back(), session.incarnation, clock_);
  for (Record& record : live.records) {
    const auto mine = history.marks.find(record.incarnation);
    const std::uint64_t taken = mine == history.marks.end() ? 0 : mine->second.taken;
    if (record.incarnation != session.incarnation || record.seq <= taken || record.seq > kMaxNumber) continue;
    if (!validate(record)) continue;  // it is counted and told when it comes in its turn
    ++figures_.live;
    sink_.on_live(node, record);
  }
  return {};
}

std::optional<Answer> Telemetry::committed(const std::string& node, const RecordMark& last, std::size_t records) {
  History& history = history_[node];
  history.pending -= std::min(history.pending, records);
  if (const auto mine = history.marks.find(last.incarnation); mine != history.marks.end())
    mine->second.committed = std::max(mine->second.committed, last.seq);
  const auto found = sessions_.find(node);
  if (found == sessions_.end()) return std::nullopt;
  Session& session = found->second;
  // What an earlier session of the node brought is not acknowledged to one that did not send it.
  const RecordMark mark = history.pending == 0 ? session.received : last;
  if (mark == RecordMark{} || mark > session.received) return std::nullopt;
  return Answer{session.route, wire::Ack{mark.incarnation, mark.seq, credit(session)}};
}

std::vector<wire::Message> Telemetry::on_placement(const transport::Incoming& from, const wire::Placement& placement) {
  if (placement.node != from.identity.name || placement.pod_uid.empty()) {
    ++figures_.garbage;
    return refuse(from, placement.node, "placements are told by the node's own agent, with the pod's UID",
                  "set `node: " + from.identity.name + "` on the agent", Refused::node);
  }
  sink_.on_placement(placement);
  return {};
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
  if (now < nobody_is_silent_before_) return;
  std::vector<std::string> silent;
  nobody_is_silent_before_ = now + kDeadAfter;
  for (const auto& [node, session] : sessions_) {
    if (now - session.heard >= kDeadAfter) {
      silent.push_back(node);
    } else {
      nobody_is_silent_before_ = std::min(nobody_is_silent_before_, session.heard + kDeadAfter);
    }
  }
  for (const std::string& node : silent) {
    log_.warn("agent is silent", {{"node", node}, {"for_s", wattle::seconds(kDeadAfter)}});
    end_session(node);
  }
}

}  // namespace wattle::controller
