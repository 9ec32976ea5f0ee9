#include "common/transport/zmq_handle.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::transport {

namespace {
tl::unexpected<Error> fail_zmq(int error_number, const std::string& subject, std::string mend = {}) {
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
  if (code == Errc::malformed && mend.empty()) mend = "write tcp://ADDRESS:PORT";
  if (code == Errc::conflict && mend.empty()) mend = "another process has it; stop that one or choose another port";
  if (code == Errc::exhausted && mend.empty()) mend = "raise the limit of open files";
  return fail(code, subject, zmq_strerror(error_number), std::move(mend));
}
}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    socket_ = other.socket_;
    other.socket_ = nullptr;
  }
  return *this;
}

Result<Handle> Handle::open_(void* context, int type) {
  void* socket = zmq_socket(context, type);
  if (socket == nullptr) return fail_zmq(zmq_errno(), "ZeroMQ socket");
  return Handle(socket);
}

void Handle::close() {
  if (socket_ != nullptr) zmq_close(socket_);
  socket_ = nullptr;
}

Status set_options(const Handle& handle, std::initializer_list<Option> options) {
  for (const Option& option : options) {
    const int rc = std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
            return zmq_setsockopt(handle.get(), option.id, value.data(), value.size());
          else
            return zmq_setsockopt(handle.get(), option.id, &value, sizeof value);
        },
        option.value);
    if (rc != 0)
      return fail_zmq(zmq_errno(), std::string(option.name), "the value is not one that this option can have");
  }
  return {};
}

Status set_common_options(const Handle& handle, const std::string& endpoint, std::int64_t max_message_bytes,
                          int queue) {
  return set_options(handle, {
                                 {ZMQ_LINGER, "linger", 0},
                                 {ZMQ_MAXMSGSIZE, "max_message_bytes", max_message_bytes},
                                 {ZMQ_SNDHWM, "queue", queue},
                                 {ZMQ_RCVHWM, "queue", queue},
                                 {ZMQ_HANDSHAKE_IVL, "handshake interval", 10'000},
                                 {ZMQ_HEARTBEAT_IVL, "heartbeat interval", 10'000},
                                 {ZMQ_HEARTBEAT_TIMEOUT, "heartbeat timeout", 20'000},
                                 {ZMQ_HEARTBEAT_TTL, "heartbeat time to live", 30'000},
                                 // With it on, "localhost" would mean ::1 alone.
                                 {ZMQ_IPV6, "ipv6", endpoint.find('[') != std::string::npos ? 1 : 0},
                             });
}

Status bind_to(const Handle& handle, const std::string& endpoint) {
  if (zmq_bind(handle.get(), endpoint.c_str()) != 0) return fail_zmq(zmq_errno(), endpoint);
  return {};
}

Status connect_to(const Handle& handle, const std::string& endpoint) {
  if (zmq_connect(handle.get(), endpoint.c_str()) != 0) return fail_zmq(zmq_errno(), endpoint);
  return {};
}

std::string last_endpoint(const Handle& handle) {
  std::array<char, 1024> text{};
  std::size_t size = text.size();
  if (zmq_getsockopt(handle.get(), ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) return {};
  return text.data();
}

bool Frame::receive(void* socket) {
  for (;;) {
    if (zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0) return true;
    if (zmq_errno() != EINTR) return false;
  }
}

std::string_view Frame::property(const char* name) const {
  const char* value = zmq_msg_gets(&message_, name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

void skip_rest(void* socket, const Frame& last) {
  bool more = last.more();
  while (more) {
    Frame rest;
    more = rest.receive(socket) && rest.more();
  }
}

bool send_frame(void* socket, std::string_view bytes, bool more) {
  for (;;) {
    if (zmq_send(socket, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) return true;
    if (zmq_errno() != EINTR) return false;
  }
}

bool wait_for(void* socket, short events, void* other, std::chrono::milliseconds timeout) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + std::max(timeout, std::chrono::milliseconds(0));
  for (;;) {
    std::array<zmq_pollitem_t, 2> items{{{socket, 0, events, 0}, {other, 0, ZMQ_POLLIN, 0}}};
    // Rounded up: rounded down, the last millisecond would be a busy loop.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - clock.mono(), Duration(0)));
    const int rc = zmq_poll(items.data(), other == nullptr ? 1 : 2, static_cast<long>(left.count()));
    if (rc < 0 && zmq_errno() == EINTR) continue;
    return rc > 0 && (items[0].revents & events) != 0;
  }
}

std::vector<bool> poll(std::span<const Socket* const> sockets, std::span<const int> fds,
                       std::chrono::milliseconds timeout) {
  std::vector<zmq_pollitem_t> items;
  items.reserve(sockets.size() + fds.size());
  // A socket whose rebuild failed is null; descriptor 0 would then be standard input.
  for (const Socket* socket : sockets)
    items.push_back({socket->native(), socket->native() == nullptr ? -1 : 0, ZMQ_POLLIN, 0});
  for (const int fd : fds) items.push_back({nullptr, fd, ZMQ_POLLIN | ZMQ_POLLERR, 0});
  const int rc = zmq_poll(items.data(), static_cast<int>(items.size()), static_cast<long>(timeout.count()));
  std::vector<bool> ready(items.size(), false);
  if (rc > 0)
    for (std::size_t i = 0; i < items.size(); ++i) ready[i] = items[i].revents != 0;
  return ready;
}

}  // namespace wattle::transport
