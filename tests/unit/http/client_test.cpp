#include "common/http/client.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "common/http/server.hpp"
#include "tests/patience.hpp"
#include "tests/unit/http/raw_socket.hpp"

using namespace std::chrono_literals;
using wattle::Errc;
using wattle::Fd;
using wattle::Log;
using wattle::http::Client;
using wattle::http::Request;
using wattle::http::Response;
using wattle::http::Server;
using wattle::http::ServerOptions;

namespace {

wattle::Result<Server> hello_server(const Log& log, ServerOptions options = {}) {
  return Server::start(options,
                       {{"GET /hello",
                         [](const Request&) {
                           return Response{200, "text/plain", "hello"};
                         }}},
                       log);
}

// A listener that never answers, or answers with fixed bytes.
struct Listener {
  Listener() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(fd.get(), 8) == 0);
    REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port = ntohs(at.sin_port);
  }
  void answer_once(const std::string& bytes) const {
    const Fd peer(::accept(fd.get(), nullptr, nullptr));
    char request[4096];
    (void)::recv(peer.get(), request, sizeof request, 0);
    (void)::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  Fd fd;
  std::uint16_t port = 0;
};

}  // namespace

TEST_CASE("a client keeps its connection over many requests") {
  const Log log = Log::silent();
  const auto server = hello_server(log, {.max_connections = 1});
  REQUIRE(server);
  Client client("localhost", server->port());
  for (int i = 0; i < 500; ++i) {
    const auto answer = client.request("GET", "/hello", "", wattle::tests::soon());
    REQUIRE(answer);
    REQUIRE(answer->body == "hello");
  }
  CHECK(client.request("HEAD", "/hello", "", wattle::tests::soon())->body.empty());
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->body == "hello");
}

TEST_CASE("a client reconnects if its kept connection was closed") {
  const Log log = Log::silent();
  auto server = hello_server(log);
  REQUIRE(server);
  const auto port = server->port();
  Client client("127.0.0.1", port);
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->status == 200);
  { const auto gone = std::move(*server); }
  const auto refused = client.request("GET", "/hello", "", wattle::tests::soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unavailable);
  const auto back = hello_server(log, {.port = port});
  REQUIRE(back);
  CHECK(client.request("GET", "/hello", "", wattle::tests::soon())->status == 200);
}

TEST_CASE("a peer that never answers is a timeout") {
  const Listener silent;
  Client client("127.0.0.1", silent.port);
  const auto answer = client.request("GET", "/", "", 50ms);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::timeout);
}

TEST_CASE("an answer that is not HTTP, too large, or truncated is refused") {
  const Listener listener;
  const auto ask = [&](const std::string& bytes) {
    std::thread peer([&] { listener.answer_once(bytes); });
    Client client("127.0.0.1", listener.port, 100);
    auto answer = client.request("GET", "/", "", wattle::tests::soon());
    peer.join();
    REQUIRE_FALSE(answer);
    return answer.error().code;
  };
  CHECK(ask("SSH-2.0-OpenSSH\r\n") == Errc::malformed);
  CHECK(ask("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x')) == Errc::malformed);
  CHECK(ask("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") == Errc::unavailable);
}

TEST_CASE("an unused port is unavailable and names the peer") {
  std::uint16_t port = 0;
  { port = Listener().port; }
  Client client("127.0.0.1", port);
  const auto answer = client.request("GET", "/x", "", wattle::tests::soon());
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::unavailable);
  CHECK(answer.error().subject == "http://127.0.0.1:" + std::to_string(port) + "/x");
}
