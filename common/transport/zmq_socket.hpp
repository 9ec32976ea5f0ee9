// zmq_socket: boundary to cppzmq, turns its exceptions into Results; private to this folder.
// Source   cppzmq 4.9 over libzmq 4.3 with cmake/zeromq/limits.patch
// Errors   zmq::error_t as an Error that names the endpoint or the option
// Threads  a socket and its messages belong to one thread at a time
#pragma once

#include <zmq.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "common/result.hpp"
#include "common/transport/sockets.hpp"

#ifndef ZMQ_WATTLE_FD_MAX
#error "this zmq.h is not the patched one of scripts/zeromq: link wattle_zeromq"
#endif

namespace wattle::transport {

// Options of cmake/zeromq/limits.patch, and one that zmq.h declares only as a draft.
namespace option {
inline constexpr zmq::sockopt::integral_option<ZMQ_WATTLE_USER_BYTES_MAX, std::int64_t> user_bytes_max{};
inline constexpr zmq::sockopt::integral_option<ZMQ_WATTLE_USER_PEERS_MAX, int> user_peers_max{};
inline constexpr zmq::sockopt::integral_option<ZMQ_WATTLE_FD_MAX, int> fd_max{};
inline constexpr zmq::sockopt::array_option<ZMQ_WATTLE_TOPIC, 0> topic{};
inline constexpr zmq::sockopt::array_option<ZMQ_WATTLE_END_USER, 0> end_user{};
// ZMQ_ZAP_ENFORCE_DOMAIN: without it, a server whose context does not answer ZAP would accept every client.
inline constexpr zmq::sockopt::integral_option<93, int> zap_enforce_domain{};
}  // namespace option

// `fix`: the fix; empty for the usual one.
Error zmq_failure(int error_number, std::string_view subject, std::string_view fix);

// Runs a call of cppzmq.
template <class Call>
Status guarded(std::string_view subject, Call&& call, std::string_view fix = {}) {
  try {
    std::forward<Call>(call)();
    return {};
  } catch (const zmq::error_t& error) {
    return tl::unexpected<Error>(zmq_failure(error.num(), subject, fix));
  }
}

template <class Option, class Value>
struct Setting {
  Setting(Option o, std::string_view n, Value v) : option(o), name(n), value(std::move(v)) {}
  Option option;
  std::string_view name;
  Value value;
};

// Sets the options in this order; stops at the first error.
template <class... Settings>
Status set_options(zmq::socket_t& socket, const Settings&... settings) {
  Status status;
  const auto set = [&](const auto& setting) {
    status = guarded(
        setting.name, [&] { socket.set(setting.option, setting.value); }, "the value is invalid for this option");
    return status.has_value();
  };
  static_cast<void>((set(settings) && ...));
  return status;
}

Result<zmq::socket_t> open_socket(zmq::context_t& context, zmq::socket_type type);

// Options of all our sockets: no lingering, a time limit for handshakes, heartbeats that detect dead links.
Status set_common_options(zmq::socket_t& socket, std::int64_t max_message_bytes, int queue);

// Endpoint with the port that the system picked.
std::string last_endpoint(const zmq::socket_t& socket);

// Does not block; false if there is no message or no socket.
bool receive(zmq::socket_t& socket, zmq::message_t& frame);
// Metadata of the connection from its handshake; empty if missing.
std::string_view property(const zmq::message_t& frame, const char* name);
// Discards the remaining frames of a message.
void skip_rest(zmq::socket_t& socket, const zmq::message_t& last);

// Does not block. `gone`: no link, or no such peer.
Sent send(zmq::socket_t& socket, std::string_view bytes, bool more);

// Waits until the socket is ready for `events` or `other` is readable; signals do not end the wait. Returns true if the
// socket is ready.
bool wait_for(zmq::socket_t& socket, short events, zmq::socket_t* other, std::chrono::milliseconds timeout);

}  // namespace wattle::transport
