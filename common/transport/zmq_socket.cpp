#include "common/transport/zmq_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "common/clock.hpp"

namespace wattle::transport {

Error zmq_failure(int error_number, std::string_view subject, std::string_view fix) {
  Errc code = Errc::io;
  switch (error_number) {
    case EADDRINUSE:
      code = Errc::conflict;
      break;
    case EACCES:
      code = Errc::denied;
      break;
    case EADDRNOTAVAIL:
      code = Errc::unavailable;
      break;
    case EINVAL:
    case ENODEV:
    case EPROTONOSUPPORT:
      code = Errc::malformed;
      break;
    case EMFILE:
      code = Errc::exhausted;
      break;
    default:
      break;
  }
  if (code == Errc::malformed && fix.empty()) fix = "use tcp://ADDRESS:PORT";
  if (code == Errc::conflict && fix.empty()) fix = "another process uses the port; stop it or choose another port";
  if (code == Errc::exhausted && fix.empty()) fix = "raise the limit of open files";
  return {code, std::string(subject), zmq_strerror(error_number), std::string(fix)};
}

Result<zmq::socket_t> open_socket(zmq::context_t& context, zmq::socket_type type) {
  zmq::socket_t socket;
  WATTLE_CHECK(guarded("ZeroMQ socket", [&] { socket = zmq::socket_t(context, type); }));
  return socket;
}

Status set_common_options(zmq::socket_t& socket, std::int64_t max_message_bytes, int queue) {
  return set_options(socket,  //
                     Setting(zmq::sockopt::linger, "linger", 0),
                     Setting(zmq::sockopt::maxmsgsize, "max_message_bytes", max_message_bytes),
                     Setting(zmq::sockopt::sndhwm, "queue", queue),  //
                     Setting(zmq::sockopt::rcvhwm, "queue", queue),
                     Setting(zmq::sockopt::handshake_ivl, "handshake interval", 10'000),
                     Setting(zmq::sockopt::heartbeat_ivl, "heartbeat interval", 10'000),
                     Setting(zmq::sockopt::heartbeat_timeout, "heartbeat timeout", 20'000),
                     Setting(zmq::sockopt::heartbeat_ttl, "heartbeat time to live", 30'000));
}

std::string last_endpoint(const zmq::socket_t& socket) {
  std::string endpoint;
  if (!guarded("endpoint", [&] { endpoint = socket.get(zmq::sockopt::last_endpoint); })) return {};
  return endpoint;
}

bool receive(zmq::socket_t& socket, zmq::message_t& frame) {
  if (!socket) return false;
  for (;;) {
    try {
      return socket.recv(frame, zmq::recv_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return false;
    }
  }
}

// Avoids message_t::gets, which throws if the property is missing.
std::string_view property(const zmq::message_t& frame, const char* name) {
  const char* value = zmq_msg_gets(frame.handle(), name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

void skip_rest(zmq::socket_t& socket, const zmq::message_t& last) {
  bool more = last.more();
  while (more) {
    zmq::message_t rest;
    more = receive(socket, rest) && rest.more();
  }
}

Sent send(zmq::socket_t& socket, std::string_view bytes, bool more) {
  if (!socket) return Sent::gone;
  const auto flags = more ? zmq::send_flags::dontwait | zmq::send_flags::sndmore : zmq::send_flags::dontwait;
  for (;;) {
    try {
      return socket.send(zmq::buffer(bytes), flags) ? Sent::yes : Sent::full;
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return Sent::gone;
    }
  }
}

bool wait_for(zmq::socket_t& socket, short events, zmq::socket_t* other, std::chrono::milliseconds timeout) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + std::max(timeout, std::chrono::milliseconds(0));
  for (;;) {
    std::array<zmq::pollitem_t, 2> items{
        {{socket.handle(), 0, events, 0}, {other == nullptr ? nullptr : other->handle(), 0, ZMQ_POLLIN, 0}}};
    // Rounds up: rounding down would busy-loop in the last millisecond.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - clock.mono(), Duration(0)));
    try {
      return zmq::poll(items.data(), other == nullptr ? 1 : 2, left) > 0 && (items[0].revents & events) != 0;
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return false;
    }
  }
}

std::vector<bool> poll(std::span<const Socket* const> sockets, std::span<const int> fds,
                       std::chrono::milliseconds timeout) {
  std::vector<zmq::pollitem_t> items;
  items.reserve(sockets.size() + fds.size());
  // A socket whose rebuild failed is null; with descriptor 0, poll would then wait for standard input.
  for (const Socket* socket : sockets)
    items.push_back({socket->native(), socket->native() == nullptr ? -1 : 0, ZMQ_POLLIN, 0});
  for (const int fd : fds) items.push_back({nullptr, fd, ZMQ_POLLIN | ZMQ_POLLERR, 0});
  std::vector<bool> ready(items.size(), false);
  try {
    zmq::poll(items, timeout);
  } catch (const zmq::error_t&) {
    return ready;  // a signal
  }
  for (std::size_t i = 0; i < items.size(); ++i) ready[i] = items[i].revents != 0;
  return ready;
}

}  // namespace wattle::transport
