#include "common/http/server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/http/crowd.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/http/raw_socket.hpp"
#include "tests/unit/http/server_fixture.hpp"

using namespace std::chrono_literals;
using wattle::Log;
using wattle::http::Client;
using wattle::http::Request;
using wattle::http::Response;
using wattle::http::Routes;
using wattle::http::Server;
using wattle::http::ServerOptions;
using wattle::http::test::first_line;
using wattle::http::test::Fixture;
using wattle::http::test::RawSocket;

TEST_CASE("a body over the limit is 413, whether announced or chunked") {
  const Fixture f({}, 1000);
  auto client = f.client();
  CHECK(client.request("POST", "/echo", std::string(1000, 'x'), wattle::tests::soon())->status == 200);
  CHECK(client.request("POST", "/echo", std::string(1001, 'x'), wattle::tests::soon())->status == 413);
  const RawSocket socket(f.server->port());
  socket.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'x') +
              "\r\n0\r\n\r\n");
  CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 413 Payload Too Large");
  CHECK(f.lives());
}

TEST_CASE("a route without a body accepts a few hundred bytes, and a request is refused by its header if possible") {
  const wattle::test::TempDir dir;
  REQUIRE(wattle::write_file_atomically(dir.file("token"), "correct-horse-battery", 0400));
  ServerOptions options;
  const Fixture f(options);
  auto client = f.client();
  CHECK(client.request("POST", "/small", std::string(512, 'x'), wattle::tests::soon())->status == 200);
  CHECK(client.request("POST", "/small", std::string(513, 'x'), wattle::tests::soon())->status == 413);
  options.token_file = dir.file("token");
  const Fixture guarded(options);
  // No request sends its body: the answer arrives without it.
  for (const auto& [server, path, length, line] :
       {std::tuple{&f, "/echo", 8'000'000, "413 Payload Too Large"},
        std::tuple{&f, "/nothing", 600, "413 Payload Too Large"}, std::tuple{&f, "/nothing", 500, "404 Not Found"},
        std::tuple{&f, "/hello", 500, "405 Method Not Allowed"}, std::tuple{&f, "/checked", 300'000, "403 Forbidden"},
        std::tuple{&guarded, "/echo", 300'000, "401 Unauthorized"}}) {
    const std::string target = path;  // clang cannot capture structured bindings
    CAPTURE(target);
    const RawSocket socket(server->server->port());
    socket.send("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(length) +
                "\r\n\r\n");
    CHECK(first_line(socket.read_until("\r\n\r\n")) == "HTTP/1.1 " + std::string(line));
  }
}

TEST_CASE("announced bodies that do not arrive reserve no room") {
  ServerOptions options;
  options.max_bodies_bytes = 500'000;
  options.request_timeout = 300s;
  const Fixture f(options);
  std::vector<RawSocket> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(f.server->port());
    silent.back().send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n" + std::string(1000, 'x'));
  }
  for (int i = 0; i < 10; ++i)
    CHECK(f.client().request("POST", "/echo", std::string(300'000, 'y'), wattle::tests::late())->body.size() ==
          300'000);
}

TEST_CASE("a body is refused if only bodies in progress fill the room; a small one is not; the room is freed later") {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::atomic<bool> inside = false;
  Routes routes;
  routes["POST /slow"] = {[&](const Request& request) {
                            inside = true;
                            released.wait();
                            return Response{200, "text/plain", std::to_string(request.body.size())};
                          },
                          400'000};
  routes["POST /echo"] = {[](const Request& request) { return Response{200, "text/plain", request.body}; }, 400'000};
  const Log log = Log::silent();
  ServerOptions options;
  options.max_bodies_bytes = 500'000;
  const auto server = Server::start(options, std::move(routes), log);
  REQUIRE(server);
  const auto client = [&server] { return Client("127.0.0.1", server->port()); };
  auto first = std::async(std::launch::async, [&client] {
    return client().request("POST", "/slow", std::string(400'000, 'x'), wattle::tests::late());
  });
  while (!inside) std::this_thread::yield();
  const RawSocket second(server->port());
  second.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n" + std::string(400'000, 'x'));
  CHECK(first_line(second.read_until("\r\n\r\n")) == "HTTP/1.1 503 Service Unavailable");
  CHECK(client().request("POST", "/echo", std::string(60'000, 'y'), wattle::tests::soon())->body.size() == 60'000);
  release.set_value();
  CHECK(first.get()->body == "400000");
  CHECK(client().request("POST", "/echo", std::string(400'000, 'y'), wattle::tests::soon())->status == 200);
}

TEST_CASE("a request under a name that is not the server's is refused, whatever its path") {
  ServerOptions options;
  options.hosts = {"wattle.example.org"};
  options.refusals = std::make_shared<wattle::http::RefusalCounts>();
  const Fixture f(options);
  const auto ask = [&f](const std::string& host) {
    const RawSocket socket(f.server->port());
    socket.send("GET /hello HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    return first_line(socket.read_to_end());
  };
  for (const char* host :
       {"evil.example", "evil.example:8050", "127.0.0.1.evil.example", "[::1", "", "localhost@evil.example"})
    CHECK(ask(host) == "HTTP/1.1 421 Misdirected Request");
  CHECK(options.refusals->get(wattle::http::Refused::host) == 6);
  for (const char* host : {"127.0.0.1", "[::1]:80", "localhost:8050", "wattle.example.org"})
    CHECK(ask(host) == "HTTP/1.1 200 OK");
}

TEST_CASE("our own client names an IPv6 address as servers expect it") {
  const Log log = Log::silent();
  Routes routes;
  routes["GET /host"] = [](const Request& request) { return Response{200, "text/plain", request.headers.at("host")}; };
  const auto server = Server::start({.address = "::1"}, std::move(routes), log);
  if (!server) {
    MESSAGE("skipped: no IPv6 loopback: ", server.error().message());
    return;
  }
  const auto answer = Client("::1", server->port()).request("GET", "/host", "", wattle::tests::soon());
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "[::1]:" + std::to_string(server->port()));
}

TEST_CASE("a wrong token is answered later each time, the right one at once, and no client is locked out") {
  const wattle::test::TempDir dir;
  REQUIRE(wattle::write_file_atomically(dir.file("token"), "correct-horse-battery", 0400));
  ServerOptions options;
  options.token_file = dir.file("token");
  options.threads = 1;
  const Fixture f(options);
  std::vector<RawSocket> guessing;
  for (int i = 0; i < 20; ++i) {
    guessing.emplace_back(f.server->port());
    guessing.back().send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer guess\r\n\r\n");
  }
  auto client = f.client();
  client.bearer("correct-horse-battery");
  CHECK(client.request("GET", "/hello", "", wattle::tests::late())->status == 200);
  for (const auto& socket : guessing) CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 401 Unauthorized");
}

TEST_CASE("a header over the limit is 431") {
  const Fixture f({.max_header_bytes = 2000});
  const RawSocket socket(f.server->port());
  socket.send("GET /hello HTTP/1.1\r\nX-Long: " + std::string(3000, 'x') + "\r\n\r\n");
  CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 431 Request Header Fields Too Large");
  CHECK(f.lives());
}

TEST_CASE("a client that starts a request and stalls gets 408 and is closed") {
  const Fixture f({.request_timeout = 2s});
  const RawSocket socket(f.server->port());
  socket.send("GET /hello HTTP/1.1\r\nHo");
  CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 408 Request Timeout");
  CHECK(f.lives());
}

TEST_CASE("time limits apply to later requests of a connection too") {
  const std::string whole = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
  const Fixture stalls({.request_timeout = 2s});
  const RawSocket stalled(stalls.server->port());
  stalled.send(whole);
  CHECK(stalled.read_until("hello you").ends_with("hello you"));
  stalled.send(whole.substr(0, 20));
  CHECK(first_line(stalled.read_to_end()) == "HTTP/1.1 408 Request Timeout");
  const Fixture waits({.idle_timeout = 2s});
  const RawSocket idle(waits.server->port());
  idle.send(whole);
  CHECK(idle.read_to_end().ends_with("hello you"));
}

TEST_CASE("an answer larger than the socket's buffers arrives whole") {
  const std::string body(24 << 20, 'x');
  const Fixture f({}, body.size());
  const RawSocket socket(f.server->port());
  socket.send("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n");
  socket.send(body);
  const std::string answer = socket.read_to_end();
  CHECK(answer.size() > body.size());
  CHECK(answer.ends_with("\r\n\r\n" + body));
}

TEST_CASE("an idle connection is closed after the limit without an answer") {
  const Fixture f({.idle_timeout = 50ms});
  const RawSocket socket(f.server->port());
  CHECK(socket.read_to_end().empty());
}

TEST_CASE("connections over the limit get 503 while all are in use, and are accepted again later") {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::atomic<int> inside = 0;
  Routes routes;
  routes["GET /slow"] = [&](const Request&) {
    ++inside;
    released.wait();
    return Response{200, "text/plain", "done"};
  };
  routes["GET /hello"] = [](const Request&) { return Response{200, "text/plain", "hello you"}; };
  const Log log = Log::silent();
  constexpr int kAll = 2 + static_cast<int>(wattle::http::kKeptForLoopback);
  ServerOptions options{.max_connections = 2};
  options.threads = kAll + 1;
  const auto server = Server::start(options, std::move(routes), log);
  REQUIRE(server);
  std::vector<RawSocket> busy;
  for (int i = 0; i < kAll; ++i) {  // two, and those reserved for loopback
    busy.emplace_back(server->port());
    busy.back().send("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    while (inside.load() <= i) std::this_thread::yield();
  }
  const RawSocket another(server->port());
  CHECK(first_line(another.read_to_end()) == "HTTP/1.1 503 Service Unavailable");
  release.set_value();
  for (const auto& socket : busy) CHECK(first_line(socket.read_to_end()) == "HTTP/1.1 200 OK");
  CHECK(Client("127.0.0.1", server->port()).request("GET", "/hello", "", wattle::tests::soon())->status == 200);
}

TEST_CASE("slow headers do not block the port: other requests are answered, however many there are") {
  ServerOptions options{.max_connections = 16, .request_timeout = 300s};
  options.refusals = std::make_shared<wattle::http::RefusalCounts>();
  const Fixture f(options);
  std::vector<RawSocket> dribbling;
  for (int i = 0; i < 100; ++i) {
    dribbling.emplace_back(f.server->port());
    dribbling.back().send("GET /hello HTTP/1.1\r\nX-Slow: ");
    if (i % 10 == 9) CHECK(f.lives());
  }
  CHECK(dribbling.front().read_to_end().empty());  // the oldest was displaced first
  dribbling.back().send("x\r\nHost: a\r\n\r\n");
  CHECK(dribbling.back().read_until("hello you").ends_with("hello you"));
  CHECK(options.refusals->get(wattle::http::Refused::too_many) >= 84);
}

TEST_CASE("slow bodies and unread answers do not displace a connection with a request") {
  ServerOptions options{.max_connections = 16, .request_timeout = 300s};
  const Fixture f(options);
  std::vector<RawSocket> holding;
  for (int i = 0; i < 100; ++i) {
    holding.emplace_back(f.server->port());
    holding.back().send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx");
    // Two that connect before either sends: neither displaces the other.
    const RawSocket first(f.server->port()), second(f.server->port());
    for (const RawSocket* each : {&first, &second}) {
      each->send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      CHECK(each->read_to_end().ends_with("hello you"));
    }
  }
  CHECK(holding.front().read_to_end().empty());  // the oldest was displaced first
}

TEST_CASE("connections that wait between requests are displaced by one with a request") {
  const Fixture f({.max_connections = 4});
  std::vector<RawSocket> idle;
  for (int i = 0; i < 12; ++i) {
    idle.emplace_back(f.server->port());
    idle.back().send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(first_line(idle.back().read_until("hello you")) == "HTTP/1.1 200 OK");
  }
  CHECK(idle.front().read_to_end().empty());
  CHECK(f.lives());
}
