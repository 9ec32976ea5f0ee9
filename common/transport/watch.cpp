#include "common/transport/watch.hpp"

#include <cstring>
#include <utility>

namespace wattle::transport {

namespace {
constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
constexpr Duration kLookEvery = std::chrono::seconds(1);
// First it is told, in answers that are on their way; then handshakes that were under way may still come to their end.
constexpr Duration kToldWithin = std::chrono::milliseconds(900);
constexpr Duration kHandshakeWithin = std::chrono::seconds(15);

// What cmake/zeromq/limits.patch adds to libzmq.
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

Result<Handle> open_monitor(Context::Impl& context, const Handle& socket, int events) {
  const std::string address = "inproc://wattle.monitor." + std::to_string(context.next_id());
  if (zmq_socket_monitor(socket.get(), address.c_str(), events) != 0)
    return fail(Errc::io, "socket monitor", zmq_strerror(zmq_errno()));
  WATTLE_TRY(Handle monitor, Handle::open_(context.zmq(), ZMQ_PAIR));
  // No bound: libzmq's I/O thread would wait for a reader that is late.
  WATTLE_CHECK(set_options(monitor, {{ZMQ_LINGER, "linger", 0}, {ZMQ_RCVHWM, "queue", 0}}));
  WATTLE_CHECK(connect_to(monitor, address));
  return monitor;
}

bool read_event(const Handle& monitor, std::uint16_t& event, std::uint32_t& value, std::string& where) {
  for (;;) {
    Frame head;
    if (monitor.get() == nullptr || !head.receive(monitor.get())) return false;
    Frame address;
    if (head.more() && address.receive(monitor.get())) where = address.bytes();
    skip_rest(monitor.get(), address);
    if (head.bytes().size() != sizeof event + sizeof value) continue;
    std::memcpy(&event, head.bytes().data(), sizeof event);
    std::memcpy(&value, head.bytes().data() + sizeof event, sizeof value);
    return true;
  }
}

Result<Watch> Watch::open_(Context::Impl& context, const Handle& socket, Channel channel) {
  WATTLE_TRY(Handle monitor, open_monitor(context, socket, kEvents));
  return Watch(context, socket.get(), channel, std::move(monitor));
}

Watch::Watch(Watch&& other) noexcept
    : context_(other.context_),
      socket_(std::exchange(other.socket_, nullptr)),
      channel_(other.channel_),
      monitor_(std::move(other.monitor_)),
      looked_(other.looked_),
      revoked_seen_(other.revoked_seen_),
      endings_(std::move(other.endings_)) {}

// First the telling, then the end that listens: an event that nobody can take would hold up libzmq's I/O thread.
Watch::~Watch() {
  if (socket_ != nullptr) zmq_socket_monitor(socket_, nullptr, 0);
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
  for (std::string& key : context_->revoked_since(revoked_seen_)) {
    ++revoked_seen_;
    endings_.push_back({std::move(key), now + kToldWithin, now + kHandshakeWithin});
  }
  std::erase_if(endings_, [&](const Ending& ending) {
    if (now < ending.from) return false;
    zmq_setsockopt(socket_, ZMQ_WATTLE_END_USER, ending.key.data(), ending.key.size());
    // Given to somebody else it may be here again.
    return now > ending.until || context_->allowed(ending.key) != nullptr;
  });
}

// A key that is not allowed is refused by ZAP, which counts it itself.
void Watch::note(std::uint16_t event, std::uint32_t value, const std::string& where) {
  if (const auto why = limit_of(value); why && event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
    return context_->refuse_key(channel_, *why, where, context_->allowed(where).get(), "");
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
    return context_->refuse_handshake(channel_, Refused::handshake, zmq_strerror(static_cast<int>(value)));
  switch (value) {
    case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
      return context_->refuse_handshake(channel_, Refused::no_key, "the client does not speak CURVE");
    case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC:
      return context_->refuse_handshake(channel_, Refused::wrong_server_key,
                                        "the client has another server's public key");
    default:
      return context_->refuse_handshake(channel_, Refused::handshake, "the client breaks the protocol");
  }
}

}  // namespace wattle::transport
