#include "controller/turns.hpp"

#include <algorithm>
#include <utility>

#include "controller/store/store.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
using transport::Incoming;
using transport::Refused;
using transport::Sent;
constexpr int kReadAtOnce = 512;
constexpr milliseconds kPoll{50};
// A client that waits longer gets a Pong before its answer, to check that it is still connected; clients ignore it.
constexpr Duration kAskWhetherThere = std::chrono::seconds(1);
// Retry interval for an answer that finds no room.
constexpr Duration kUnreadPause = milliseconds(20);
constexpr Duration kAsksLast = milliseconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kPongWaits = milliseconds(100);  // for an acknowledgement

// Returns when work that has a share of the time may run again, after it ran from `begun`.
// One slow query, such as an order that waits for the disk, delays those of all peers by kLongestPause at most: clients
// give up after kQueryAtMost.
MonoTime after(MonoTime begun, Duration used) {
  const auto shared =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds(used) / kQueriesShare));
  return begun + std::min(shared, used + kLongestPause);
}

}  // namespace

Turns::Turns(const Parts& parts, transport::Server& telemetry_socket, transport::Server& ask_socket, Answers& answers,
             TaskQueue& tasks, Overload& overload)
    : parts_(parts),
      telemetry_socket_(telemetry_socket),
      ask_socket_(ask_socket),
      answers_(answers),
      tasks_(tasks),
      overload_(overload),
      unsent_([this](const std::string& route, std::string_view bytes) { return ask_socket_.send(route, bytes); }),
      asks_(kAskLimits),
      queries_(kQueryLimits),
      records_(kTelemetryLimits) {}

void Turns::asks() {
  read_asks();
  serve_asks(kSlice, kAskLimits.tolerance);
}

void Turns::expire(MonoTime now) {
  for (PeerQueues* queue : {&asks_, &queries_, &records_}) queue->expire(now);
}

void Turns::reply(const std::string& route, transport::Role role, const wire::Message& message) {
  if (!unsent_.send(route, wire::encode(message))) ++parts_.roles.of(role).unread;
}

Duration Turns::charge(PeerQueues& queue, const transport::Identity& peer, MonoTime begun, Duration asks_before) {
  const MonoTime now = parts_.clock.mono();
  const Duration used = std::max(Duration{0}, now - begun - (asks_between_ - asks_before));
  queue.charge(peer, used, now);
  parts_.roles.of(peer.role).used += used;
  return used;
}

void Turns::read_asks() {
  const MonoTime until = parts_.clock.mono() + kAsksLast;
  for (int i = 0; i < kReadAtOnce && (i == 0 || parts_.clock.mono() < until); ++i) {
    auto incoming = ask_socket_.receive();
    if (!incoming) return;
    const auto head = wire::peek(incoming->bytes);
    PeerQueues& queue = head && head->kind == wire::Kind::query ? queries_ : asks_;
    if (!queue.push(std::move(*incoming), parts_.clock.mono())) say_busy(*incoming, head);
  }
}

void Turns::say_busy(const Incoming& incoming, const std::optional<wire::Head>& head) {
  constexpr const char* kWhat = "exceeds the limit of waiting requests of a peer";
  wire::Message refusal =
      answers_.refuse(incoming.identity, Refused::busy,
                      {Errc::unavailable, incoming.identity.user_id(), kWhat, "send requests more slowly"});
  // Uses the number of the request if there is one, because a client would take a Refusal for the answer to its next
  // request.
  if (head && head->kind == wire::Kind::query)
    refusal = wire::Reply{head->first, false, {}, std::string("busy: ") + kWhat};
  if (head && head->kind == wire::Kind::ask) {
    wire::Suggestion neutral;
    neutral.request_id = head->first;
    neutral.reason = std::string("busy: ") + kWhat;
    refusal = std::move(neutral);
  }
  reply(incoming.route, incoming.identity.role, refusal);
}

bool Turns::serve_ask(Duration tolerance) {
  const MonoTime begun = parts_.clock.mono();
  const auto waiting = asks_.next(begun, tolerance);
  if (!waiting) return false;
  const Incoming& incoming = waiting->message;
  for (const wire::Message& message : finished(answers_.answer(incoming, begun - waiting->since)))
    reply(incoming.route, incoming.identity.role, message);
  charge(asks_, incoming.identity, begun, asks_between_);
  return true;
}

// Reads new asks between two answers, so that a peer with less usage does not wait behind all older asks.
void Turns::serve_asks(Duration slice, Duration tolerance) {
  MonoTime now = parts_.clock.mono(), read = now;
  for (const MonoTime until = now + slice; serve_ask(tolerance) && (now = parts_.clock.mono()) < until;) {
    if (now - read < kAsksEvery) continue;
    read_asks();
    read = now;
  }
  asks_served_ = parts_.clock.mono();
}

void Turns::between_steps() {
  const MonoTime begun = parts_.clock.mono();
  if (!asks_due()) return;
  read_asks();
  serve_asks(kAsksLast, kOwesLittle);
  tasks_.run_probes();
  documents_wait_ = tasks_.waits();
  asks_between_ += parts_.clock.mono() - begun;
}

void Turns::finish(const Steps& steps) {
  while (steps()) between_steps();
}

bool Turns::read_telemetry() {
  for (int i = 0; i < kReadAtOnce; ++i) {
    auto incoming = telemetry_socket_.receive();
    if (!incoming) return i > 0;
    if (parts_.telemetry.expects(*incoming)) take_telemetry(std::move(*incoming));
    between_steps();
  }
  return true;
}

// Answers a Ping ahead of the records that wait, so that a session survives; queues everything else.
void Turns::take_telemetry(Incoming&& incoming) {
  using Sort = PeerQueues::Sort;
  const auto head = wire::peek(incoming.bytes);
  const auto is = [&](wire::Kind kind) { return head && head->kind == kind; };
  if (is(wire::Kind::ping)) {
    const auto pong = parts_.telemetry.answer_ping(incoming, records_.holds_placement(incoming.identity));
    if (pong) return answer_ping(incoming, *pong);
  }
  const Sort sort = is(wire::Kind::live) ? Sort::live : is(wire::Kind::placement) ? Sort::placement : Sort::in_turn;
  if (records_.push(std::move(incoming), parts_.clock.mono(), sort)) return;
  // The agent keeps unacknowledged records and sends them again.
  for (const wire::Message& refusal : parts_.telemetry.refuse_busy(incoming))
    telemetry_socket_.send(incoming.route, wire::encode(refusal));
  records_.drop(incoming.identity, incoming.route);
}

void Turns::answer_ping(const Incoming& incoming, const wire::Message& pong) {
  std::string bytes = wire::encode(pong);
  const std::string& node = incoming.identity.name;
  if (!parts_.store.on() || !records_.waits(incoming.identity)) {
    telemetry_socket_.send(incoming.route, bytes);
    return;
  }
  const MonoTime now = parts_.clock.mono();
  pongs_[node] = {incoming.route, std::move(bytes), now};
  pongs_in_order_.emplace_back(now, node);
}

void Turns::acknowledge(const std::string& node, const Answer& answer) {
  telemetry_socket_.send(answer.route, wire::encode(answer.message));
  const auto pong = pongs_.find(node);
  if (pong == pongs_.end()) return;
  telemetry_socket_.send(pong->second.route, pong->second.bytes);
  pongs_.erase(pong);
}

void Turns::send_late_pongs() {
  const MonoTime before = parts_.clock.mono() - kPongWaits;
  for (; !pongs_in_order_.empty() && pongs_in_order_.front().first <= before; pongs_in_order_.pop_front()) {
    const auto pong = pongs_.find(pongs_in_order_.front().second);
    if (pong == pongs_.end() || pong->second.since > before) continue;
    telemetry_socket_.send(pong->second.route, pong->second.bytes);
    pongs_.erase(pong);
  }
}

bool Turns::telemetry() {
  const bool arrived = read_telemetry();
  send_late_pongs();
  const MonoTime until = parts_.clock.mono() + kSlice;
  for (MonoTime begun = parts_.clock.mono(); begun < until; begun = parts_.clock.mono()) {
    if (parts_.store.half_full()) break;
    auto waiting = records_.next(begun);
    if (!waiting) break;
    overload_.waited(begun - waiting->since);
    Incoming& incoming = waiting->message;
    const Duration asks_before = asks_between_;
    message_until_ = begun + kSlice;
    const auto send = [&](const std::vector<wire::Message>& messages) {
      for (const wire::Message& message : messages) telemetry_socket_.send(incoming.route, wire::encode(message));
    };
    send(parts_.telemetry.receive(incoming));
    while (parts_.telemetry.reads()) {
      between_steps();
      send(parts_.telemetry.read_on());
    }
    const transport::Identity peer = incoming.identity;
    if (auto rest = parts_.telemetry.take_rest()) {
      incoming.bytes = std::move(*rest);
      records_.put_back(std::move(*waiting));
    }
    charge(records_, peer, begun, asks_before);
    between_steps();
  }
  return arrived;
}

void Turns::query() {
  const MonoTime begun = parts_.clock.mono();
  if (begun < next_query_at_) return;
  auto waiting = queries_.next(begun);
  if (!waiting) return;
  const Incoming& incoming = waiting->message;
  const Duration waited = begun - waiting->since;
  if (waited > kQueryAtMost) return say_busy(incoming, wire::peek(incoming.bytes));
  Sent there = unsent_.waits(incoming.route) ? Sent::full : Sent::yes;
  if (there == Sent::yes && waited > kAskWhetherThere)
    there = ask_socket_.send(incoming.route, wire::encode(wire::Pong{}));
  if (there == Sent::gone) {
    queries_.drop(incoming.identity, incoming.route);
    return;
  }
  if (there == Sent::full) {  // peers that do not read get no more
    queries_.pause(incoming.identity, begun + kUnreadPause);
    queries_.put_back(std::move(*waiting));
    return;
  }
  const Duration asks_before = asks_between_;
  std::vector<wire::Message> messages;
  finish([&messages, answer = answers_.answer(incoming, waited)] {
    auto complete = answer();
    if (complete) messages = *std::move(complete);
    return !complete;
  });
  for (const wire::Message& message : messages) reply(incoming.route, incoming.identity.role, message);
  const Duration used = charge(queries_, incoming.identity, begun, asks_before);
  next_query_at_ = after(begun, used);
}

void Turns::http() {
  const MonoTime begun = parts_.clock.mono();
  const Duration asks_before = asks_between_;
  const bool document = begun >= next_document_at_;
  tasks_.run_probes();
  if (document) finish(tasks_.begin());
  documents_wait_ = tasks_.waits();
  if (document) next_document_at_ = after(begun, parts_.clock.mono() - begun - (asks_between_ - asks_before));
}

std::chrono::milliseconds Turns::patience() const {
  const MonoTime now = parts_.clock.mono();
  if (asks_.ready(now) || (records_.ready(now) && !parts_.store.half_full())) return milliseconds(0);
  if (!unsent_.empty()) return milliseconds(1);
  Duration left = kPoll;
  if (queries_.ready(now)) left = std::min(left, next_query_at_ - now);
  if (documents_wait_) left = std::min(left, next_document_at_ - now);
  return std::max(std::chrono::ceil<milliseconds>(left), milliseconds(0));
}

}  // namespace wattle::controller
