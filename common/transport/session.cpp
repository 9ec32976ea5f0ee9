#include "common/transport/session.hpp"

#include <algorithm>
#include <utility>

#include "common/base64.hpp"
#include "common/wire/codec.hpp"

namespace wattle::transport {

namespace {
using std::chrono::milliseconds;
constexpr Duration kPingEvery = std::chrono::seconds(1);
constexpr Duration kPingEveryAtMost = std::chrono::seconds(2);
constexpr std::uint64_t kTickAtMost_ms = 10'000;
// A Ping joins messages sent shortly before it is due, so that a quiet link wakes its peers once per second.
constexpr Duration kPingEarly = milliseconds(100);
// With this slack the session does not wake up only for a Ping while samples are sent every second.
constexpr Duration kPingLate = milliseconds(200);
constexpr Duration kBusyPatience = milliseconds(100);
constexpr Duration kDeadAfter = std::chrono::seconds(5);
// Long, because a whole fleet may connect at once, and every agent that gives up causes another handshake.
constexpr Duration kGreetingPatience = std::chrono::seconds(20);
constexpr Duration kBackoffFirst = milliseconds(250);
constexpr Duration kBackoffMax = std::chrono::seconds(32);
constexpr int kReceivePerPump = 1000;
constexpr std::size_t kMaxReports = 10'000;
constexpr std::size_t kMaxGapsAtOnce = 1000;
constexpr std::size_t kFewRecords = 2;  // small enough to need no pause
}  // namespace

AgentSession::AgentSession(Client client, Outbox& outbox, wire::Hello hello, const Clock& clock, const Log& log,
                           std::uint64_t seed, Pace pace)
    : client_(std::move(client)),
      outbox_(outbox),
      hello_(std::move(hello)),
      clock_(clock),
      log_(log),
      random_(seed),
      pace_(pace) {
  status_.problem = "not connected yet";
}

void AgentSession::pump() {
  if (silent_) return drain();
  if (phase_ == Phase::waiting) {
    reopen();
    if (phase_ == Phase::waiting) return;
  }
  receive();
  if (phase_ == Phase::waiting) return;
  follow_link();
  if (phase_ == Phase::welcomed && clock_.mono() - received_at_ >= kDeadAfter)
    return lose("the controller has sent nothing for 5 s");
  if (phase_ == Phase::greeting && clock_.mono() - received_at_ >= kGreetingPatience)
    return lose("the controller does not answer the Hello");
  if (phase_ != Phase::welcomed) return;
  blocked_ = false;
  send_placements();
  send_live();
  send_samples();
  ping();
}

Duration AgentSession::patience() const {
  if (silent_) return kPingEvery;
  const bool quiet = phase_ == Phase::welcomed && !blocked_;
  if (!quiet) return kBusyPatience;
  const Duration until = pinged_at_ + ping_every() + kPingLate - clock_.mono();
  return std::clamp<Duration>(until, milliseconds(1), ping_every() + kPingLate);
}

void AgentSession::wake(std::string why) {
  silent_ = false;
  status_.problem = std::move(why);
  ++status_.reconnects;
  retry_at_ = clock_.mono();
  phase_ = Phase::waiting;
}

Duration AgentSession::ping_every() const { return std::clamp(status_.tick, kPingEvery, kPingEveryAtMost); }

void AgentSession::report(wire::Placement placement) {
  if (reports_.size() == kMaxReports) {
    log_.warn("session.placement_dropped", "too many placement reports are waiting; the oldest was dropped",
              {{"pod", reports_.front().placement.pod_uid}});
    reports_.pop_front();
  }
  reports_.push_back({std::move(placement)});
}

void AgentSession::lose(const std::string& why) {
  log_.warn("session.ended", "the session with the controller has ended", {{"node", hello_.node}, {"why", why}});
  status_.welcomed = false;
  status_.problem = why;
  ++status_.reconnects;
  const Duration pause = std::min(kBackoffMax, kBackoffFirst * (1 << std::min(failures_, 8)));
  ++failures_;
  std::uniform_real_distribution<double> jitter(0.5, 1.0);
  retry_at_ = clock_.mono() + from_seconds(wattle::seconds(pause) * jitter(random_));
  phase_ = Phase::waiting;
}

// Drops late messages of a conversation that has ended, which would keep a poll() awake.
void AgentSession::drain() {
  for (int i = 0; i < kReceivePerPump && client_.receive(); ++i) {
  }
}

void AgentSession::reopen() {
  drain();
  if (clock_.mono() < retry_at_) return;
  if (const auto built = client_.rebuild(); !built) return lose(built.error().message());
  phase_ = Phase::connecting;
}

// Begins a conversation on every new link, and gives up a refused link.
void AgentSession::follow_link() {
  const Link link = client_.link();
  if (link == Link::refused) {
    status_.key_refused = true;
    return lose(client_.link_problem());
  }
  if (link == Link::up && (phase_ == Phase::connecting || client_.times_up() != times_up_)) {
    if (phase_ != Phase::connecting) ++status_.reconnects;
    status_.welcomed = false;
    phase_ = Phase::connecting;
    if (!send(hello_)) return;  // the link may not be writable yet; the next pump tries again
    times_up_ = client_.times_up();
    received_at_ = clock_.mono();
    phase_ = Phase::greeting;
    status_.problem = "waiting for the controller's welcome";
    return;
  }
  if (link == Link::connecting) {
    const std::string problem = client_.link_problem();
    if (phase_ != Phase::connecting) {
      log_.warn("session.link_lost", "the link to the controller is lost", {{"node", hello_.node}, {"why", problem}});
      ++status_.reconnects;
      status_.welcomed = false;
      phase_ = Phase::connecting;
    }
    status_.problem = problem.empty() ? "not connected yet" : problem;
  }
}

void AgentSession::receive() {
  for (int i = 0; i < kReceivePerPump; ++i) {
    const auto bytes = client_.receive();
    if (!bytes) return;
    handle(*bytes);
    if (phase_ == Phase::waiting) return;
  }
}

void AgentSession::handle(const std::string& bytes) {
  received_at_ = clock_.mono();
  const auto message = wire::decode(bytes);
  if (!message) {
    if (message.error().code != Errc::unsupported) return lose("the controller sent " + message.error().message());
    if (!std::exchange(unknown_kind_reported_, true))
      log_.warn("session.message_skipped", "a message of a newer kind was skipped", {{"error", message.error()}});
    return;
  }
  if (const auto* refusal = std::get_if<wire::Refusal>(&*message)) {
    std::string text = "rejected by the controller: " + refusal->subject + ": " + refusal->what;
    if (!refusal->fix.empty()) text += " (" + refusal->fix + ")";
    return lose(text);
  }
  if (const auto* ping = std::get_if<wire::Ping>(&*message)) {
    send(wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock_.mono()), to_ns(clock_.wall())});
    return;
  }
  if (const auto* welcome = std::get_if<wire::Welcome>(&*message)) {
    if (phase_ == Phase::greeting) on_welcome(*welcome);
    return;
  }
  if (const auto* ack = std::get_if<wire::Ack>(&*message)) {
    if (phase_ == Phase::welcomed) on_ack(*ack);
    return;
  }
  if (const auto* pong = std::get_if<wire::Pong>(&*message)) {
    if (phase_ == Phase::welcomed) on_pong(*pong);
    return;
  }
  if (const auto* order = std::get_if<wire::SleepOrder>(&*message)) {
    if (phase_ == Phase::welcomed) sleep_.on_order(*order);
    return;
  }
  lose("the controller sent a " + std::string(to_string(kind_of(*message))) + ", which agents do not accept");
}

void AgentSession::on_welcome(const wire::Welcome& welcome) {
  if (welcome.version < hello_.version_min || welcome.version > hello_.version_max)
    return lose("the controller uses wire version " + std::to_string(welcome.version) + ", this agent " +
                std::to_string(hello_.version_min) + " to " + std::to_string(hello_.version_max));
  const auto batch = [](std::uint64_t n) { return n == 0 ? wire::Limits{}.elements : n; };
  max_batch_ = std::min(batch(welcome.max_batch), batch(hello_.max_batch));
  max_message_bytes_ = wire::Limits{}.message_bytes;
  if (welcome.max_message_bytes != 0) max_message_bytes_ = std::min(max_message_bytes_, welcome.max_message_bytes);
  credit_ = welcome.credit;
  in_flight_.clear();
  sleep_.reset();
  sent_ = gaps_reported_ = {};
  const RecordMark held{welcome.acked_incarnation, welcome.acked_seq};
  status_.reused = held.incarnation == hello_.incarnation && held.seq > 0 && status_.sent_records == 0;
  if (status_.reused) return lose("the controller has this incarnation's records of an earlier start");
  if (held.incarnation > hello_.incarnation) {
    // Our incarnation restarted from a lower number, so this mark is not about our records.
    log_.warn("session.superseded", "the controller knows a later incarnation of this node",
              {{"node", hello_.node}, {"ours", hello_.incarnation}, {"theirs", held.incarnation}});
  } else {
    if (const auto acked = outbox_.ack(held); !acked) return lose(acked.error().message());
    sent_ = held;
  }
  status_.acked_seq = held.incarnation == hello_.incarnation ? held.seq : 0;
  for (Report& report : reports_) report.sent = false;
  version_ = welcome.version;
  live_ = {};
  const MonoTime now = clock_.mono();
  const auto waiting = static_cast<std::int64_t>(outbox_.size());
  std::uniform_real_distribution<double> share(0.0, 1.0);
  const Duration spread = std::min(pace_.spread_max, pace_.spread_per_record * waiting);
  backfill_at_ = outbox_.size() <= kFewRecords ? now : now + from_seconds(wattle::seconds(spread) * share(random_));
  allowance_ = pace_.at_once;
  allowed_at_ = now;
  pinged_at_ = now - kPingEveryAtMost;
  peer_clock_.reset();
  phase_ = Phase::welcomed;
  status_.welcomed = true;
  status_.key_refused = false;
  status_.problem.clear();
  log_.info("session.welcomed", "the controller has accepted the session",
            {{"node", hello_.node},
             {"controller", welcome.controller_version},
             {"credit", welcome.credit},
             {"max_batch", welcome.max_batch}});
}

void AgentSession::on_ack(const wire::Ack& ack) {
  const RecordMark mark{ack.incarnation, ack.seq};
  credit_ = ack.credit;
  status_.pod_levels = ack.pod_levels;
  status_.margins = ack.margins;
  status_.tick = milliseconds(std::min(ack.tick_ms, kTickAtMost_ms));
  take_student(ack);
  status_.acked_at = clock_.mono();
  if (mark > sent_) return lose("the controller acknowledged a record that was never sent");
  failures_ = 0;
  while (!in_flight_.empty() && in_flight_.front() <= mark) in_flight_.pop_front();
  if (const auto acked = outbox_.ack(mark); !acked) return lose(acked.error().message());
  if (mark.incarnation == hello_.incarnation) status_.acked_seq = std::max(status_.acked_seq, mark.seq);
}

// A damaged student is dropped; the controller sends it again in the next session.
void AgentSession::take_student(const wire::Ack& ack) {
  if (ack.student_version != status_.student_version) status_.student.reset();
  status_.student_version = ack.student_version;
  if (ack.student.empty()) return;
  std::string text;
  for (const std::string& part : ack.student) text += part;
  if (auto file = base64_decode(text))
    status_.student = std::make_shared<const std::string>(std::move(*file));
  else
    log_.warn("student.damaged", "the controller's student is damaged",
              {{"node", hello_.node}, {"version", ack.student_version}});
}

void AgentSession::on_pong(const wire::Pong& pong) {
  failures_ = 0;
  // Messages arrive in order, so everything sent before this Ping has arrived.
  while (!reports_.empty() && reports_.front().sent && reports_.front().answered_by <= pong.nonce) reports_.pop_front();
  if (const auto stood = peer_clock_.see(pong.mono_ns, pong.peer_mono_ns, clock_.mono()))
    lose("this node's clock stood still for " +
         std::to_string(std::chrono::round<std::chrono::seconds>(*stood).count()) + " s: it was suspended or paused");
}

// Sent last, so that its answer confirms everything before it.
void AgentSession::ping() {
  const MonoTime now = clock_.mono();
  if (phase_ != Phase::welcomed || now - pinged_at_ < ping_every() - kPingEarly) return;
  if (!send(wire::Ping{next_nonce_, to_ns(now)})) return;
  ++next_nonce_;
  pinged_at_ = now;
}

void AgentSession::send_placements() {
  if (sleep_.held()) return;
  for (Report& report : reports_) {
    if (report.sent) continue;
    if (!send(report.placement)) return;
    report.sent = true;
    report.answered_by = next_nonce_;
  }
}

bool AgentSession::piled_up() const { return outbox_.size() > in_flight_.size(); }

// Sends the newest interval ahead of older records; it is sent again in order.
void AgentSession::send_live() {
  if (version_ < wire::kLiveSince || sleep_.held() || !piled_up()) return;
  const MonoTime now = clock_.mono();
  const std::size_t room =
      now < backfill_at_ ? 0 : std::min(credit_ - std::min(credit_, in_flight_.size()), allowance());
  if (outbox_.size() - in_flight_.size() <= room) return;
  if (live_ != RecordMark{} && now - live_at_ < std::max(pace_.live_every, status_.tick)) return;
  const std::vector<EncodedRecord> newest = outbox_.newest();
  if (newest.empty() || newest.front().mark <= std::max(live_, sent_) ||
      newest.front().mark.incarnation != hello_.incarnation)
    return;
  if (fitting(newest) < newest.size()) return;
  if (!client_.send(wire::encode_live(newest))) {
    blocked_ = true;
    return;
  }
  live_ = newest.back().mark;
  live_at_ = now;
  ++status_.live;
}

// Number of records that rate and burst allow now.
std::size_t AgentSession::allowance() {
  const MonoTime now = clock_.mono();
  allowance_ = std::min(pace_.at_once, allowance_ + pace_.per_s * wattle::seconds(now - allowed_at_));
  allowed_at_ = now;
  return static_cast<std::size_t>(allowance_);
}

void AgentSession::send_samples() {
  if (clock_.mono() < backfill_at_) {
    blocked_ = true;
    return;
  }
  while (in_flight_.size() < credit_ && piled_up()) {
    const std::size_t count = std::min({max_batch_, credit_ - in_flight_.size(), allowance()});
    if (count == 0) {
      blocked_ = true;
      return;
    }
    auto records = outbox_.peek_after(sent_, count);
    if (!records) return lose(records.error().message());
    sleep_.filter(*records);
    if (records->empty() || !send_gaps(records->front().mark.incarnation) || !send_batch(*records)) return;
  }
}

// Sends gaps before the first record of a later incarnation; after it the controller accepts no earlier number.
bool AgentSession::send_gaps(std::uint64_t incarnation) {
  const RecordMark reported = std::max(sent_, gaps_reported_);
  std::vector<RecordGap> gaps = outbox_.gaps_before(incarnation, reported);
  while (!gaps.empty()) {
    const auto end = gaps.begin() + static_cast<std::ptrdiff_t>(std::min(gaps.size(), kMaxGapsAtOnce));
    if (!send(wire::Samples{{}, {gaps.begin(), end}})) return false;
    gaps_reported_ = {std::prev(end)->incarnation, std::prev(end)->last_seq};
    gaps.erase(gaps.begin(), end);
  }
  return true;
}

// Number of records that fit into one message.
std::size_t AgentSession::fitting(std::span<const EncodedRecord> records) const {
  std::size_t bytes = wire::kSamplesHeadBytes, count = 0;
  while (count < records.size() && bytes + records[count].bytes.size() <= max_message_bytes_)
    bytes += records[count++].bytes.size();
  return count;
}

// Splits the records into messages. Returns false if no more can be sent now.
bool AgentSession::send_batch(std::span<const EncodedRecord> records) {
  while (!records.empty()) {
    const std::size_t count = fitting(records);
    if (count == 0) {
      const EncodedRecord& record = records.front();
      log_.error("session.record_dropped", "a record exceeds the controller's size limit and was dropped",
                 {{"seq", record.mark.seq}, {"bytes", record.bytes.size()}, {"max_message_bytes", max_message_bytes_}});
      sent_ = record.mark;
      records = records.subspan(1);
      continue;
    }
    const auto batch = records.first(count);
    if (!client_.send(wire::encode_samples(batch))) {
      blocked_ = true;
      return false;
    }
    for (const EncodedRecord& record : batch) in_flight_.push_back(record.mark);
    allowance_ -= static_cast<double>(count);
    sent_ = batch.back().mark;
    status_.sent_records += count;
    records = records.subspan(count);
  }
  return true;
}

bool AgentSession::send(const wire::Message& message) {
  if (client_.send(wire::encode(message))) return true;
  blocked_ = true;
  return false;
}

}  // namespace wattle::transport
