#include "common/transport/watch.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace wattle::transport {

namespace {
constexpr int kEvents =
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_ACCEPT_FAILED;
constexpr Duration kLookEvery = std::chrono::seconds(1);
// The client first gets the refusal in answers to its messages; handshakes already in progress may still complete.
constexpr Duration kReportedWithin = std::chrono::milliseconds(900);
constexpr Duration kHandshakeWithin = std::chrono::seconds(15);

// Values that cmake/zeromq/limits.patch adds to libzmq.
std::optional<Refused> limit_of(std::uint32_t value) {
  switch (value) {
    case ZMQ_WATTLE_ENDED_UNFINISHED:
      return Refused::unfinished;
    case ZMQ_WATTLE_ENDED_UNREAD:
      return Refused::unread;
    case ZMQ_WATTLE_ENDED_PEERS:
      return Refused::connections;
    case ZMQ_WATTLE_ENDED_ROUTING_ID:
      return Refused::routing_id;
    case ZMQ_WATTLE_ENDED_MESSAGES:
    case ZMQ_WATTLE_REFUSED_TOPIC:
      return Refused::subscription;
    default:
      return std::nullopt;
  }
}
}  // namespace

// Does not use zmq::monitor_t, whose queue is bounded: libzmq's I/O thread would block on a slow reader.
Result<zmq::socket_t> open_monitor(Context::Impl& context, zmq::socket_t& socket, int events) {
  const std::string address = "inproc://wattle.monitor." + std::to_string(context.next_id());
  zmq::socket_t monitor;
  WATTLE_CHECK(guarded("socket monitor", [&] {
    if (zmq_socket_monitor(socket.handle(), address.c_str(), events) != 0) throw zmq::error_t();
    monitor = zmq::socket_t(context.zmq(), zmq::socket_type::pair);
    monitor.set(zmq::sockopt::linger, 0);
    monitor.set(zmq::sockopt::rcvhwm, 0);
    monitor.connect(address);
  }));
  return monitor;
}

bool read_event(zmq::socket_t& monitor, std::uint16_t& event, std::uint32_t& value, std::string& where) {
  for (;;) {
    zmq::message_t head, address;
    if (!receive(monitor, head)) return false;
    if (head.more() && receive(monitor, address)) where = address.to_string_view();
    skip_rest(monitor, address);
    if (head.size() != sizeof event + sizeof value) continue;
    std::memcpy(&event, head.data(), sizeof event);
    std::memcpy(&value, head.data<char>() + sizeof event, sizeof value);
    return true;
  }
}

Result<Watch> Watch::open_(Context::Impl& context, zmq::socket_t& socket, Channel channel) {
  WATTLE_TRY(zmq::socket_t monitor, open_monitor(context, socket, kEvents));
  return Watch(context, socket.handle(), channel, std::move(monitor));
}

Watch::Watch(Watch&& other) noexcept
    : context_(other.context_),
      socket_(std::exchange(other.socket_, zmq::socket_ref())),
      channel_(other.channel_),
      monitor_(std::move(other.monitor_)),
      looked_(other.looked_),
      revoked_seen_(other.revoked_seen_),
      endings_(std::move(other.endings_)) {}

// Stops the events before their receiver closes: an event without a receiver would block libzmq's I/O thread.
Watch::~Watch() {
  if (socket_) zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

void Watch::read() {
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  std::string where;
  while (read_event(monitor_, event, value, where)) note(event, value, where);
}

void Watch::end_revoked() {
  const MonoTime now = clock_.mono();
  if (now - looked_ < kLookEvery) return;
  looked_ = now;
  for (std::string& key : context_->revoked_since(revoked_seen_))
    endings_.push_back({std::move(key), now + kReportedWithin, now + kHandshakeWithin});
  std::erase_if(endings_, [&](const Ending& ending) {
    if (now < ending.from) return false;
    static_cast<void>(guarded("revoked key", [&] { socket_.set(option::end_user, ending.key); }));
    // A key that is allowed again may connect again.
    return now > ending.until || context_->allowed(ending.key) != nullptr;
  });
}

// ZAP refuses keys that are not allowed, and counts them itself.
void Watch::note(std::uint16_t event, std::uint32_t value, const std::string& where) {
  if (const auto why = limit_of(value); why && event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
    return context_->refuse_key(channel_, *why, where, context_->allowed(where).get(), "");
  if (event == ZMQ_EVENT_ACCEPT_FAILED) {
    // Other errors mean that the client has already disconnected.
    if (value == EMFILE || value == ENFILE)
      context_->refuse_handshake(channel_, Refused::descriptors,
                                 "no file descriptor left for a connection: raise the limit of open files");
    return;
  }
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
    return context_->refuse_handshake(channel_, Refused::handshake, zmq_strerror(static_cast<int>(value)));
  switch (value) {
    case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
      return context_->refuse_handshake(channel_, Refused::no_key, "the client does not speak CURVE");
    case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC:
      return context_->refuse_handshake(channel_, Refused::wrong_server_key,
                                        "the client has another server's public key");
    default:
      return context_->refuse_handshake(channel_, Refused::handshake, "the client violated the protocol");
  }
}

}  // namespace wattle::transport
