// Peers that end while their messages wait to be read.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include <array>
#include <string>

#include "common/dir.hpp"
#include "tests/patience.hpp"

using namespace wattle;

namespace {
constexpr int kQueued = 6;

// ZMTP 3.0 of a PUSH peer without a security mechanism: greeting and READY; a PULL peer answers with as many bytes.
std::string push_greeting() {
  std::string bytes("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
  bytes.append(48, '\0');
  return bytes.append("\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH", 28);
}

// Several messages, a PING, and one more message.
std::string push_messages() {
  std::string bytes;
  for (int i = 0; i < kQueued; ++i) bytes.append("\0\4abcd", 6);
  bytes.append("\4\7\4PING\0\0", 9);
  return bytes.append("\0\4abcd", 6);
}

Fd connect_to_port(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  return fd;
}
}  // namespace

TEST_CASE("a peer that ends while messages and a PING wait to be read does not abort the process") {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_PULL);
  const int one = 1;
  const int patience_ms = static_cast<int>(tests::moment().count());
  zmq_setsockopt(socket, ZMQ_RCVHWM, &one, sizeof one);
  zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
  REQUIRE(zmq_bind(socket, "tcp://127.0.0.1:*") == 0);
  std::array<char, 64> endpoint{};
  std::size_t size = endpoint.size();
  REQUIRE(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint.data(), &size) == 0);
  const std::string text(endpoint.data());
  {
    const Fd peer = connect_to_port(static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1))));
    std::string bytes = push_greeting();
    REQUIRE(::send(peer.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    REQUIRE(::recv(peer.get(), bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size()));
    bytes = push_messages();
    REQUIRE(::send(peer.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    tests::let_a_moment_pass();  // messages are received until the queue is full
    const linger reset{1, 0};
    ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  tests::let_a_moment_pass();  // the end of the connection is detected before the queue has room again
  std::array<char, 16> message{};
  int received = 0;
  while (zmq_recv(socket, message.data(), message.size(), 0) == 4) ++received;
  CHECK(received >= 1);
  zmq_close(socket);
  zmq_ctx_term(context);
}
