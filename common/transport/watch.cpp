#include "common/transport/watch.hpp"

#include <cstring>
#include <utility>

namespace wattle::transport {

namespace {
constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
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

bool read_event(const Handle& monitor, std::uint16_t& event, std::uint32_t& value) {
  for (;;) {
    Frame head;
    if (monitor.get() == nullptr || !head.receive(monitor.get())) return false;
    skip_rest(monitor.get(), head);
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
      monitor_(std::move(other.monitor_)) {}

// First the telling, then the end that listens: an event that nobody can take would hold up libzmq's I/O thread.
Watch::~Watch() {
  if (socket_ != nullptr) zmq_socket_monitor(socket_, nullptr, 0);
}

void Watch::read() {
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  while (read_event(monitor_, event, value)) note(event, value);
}

// A key that is not allowed is refused by ZAP, which counts it itself.
void Watch::note(std::uint16_t event, std::uint32_t value) {
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
