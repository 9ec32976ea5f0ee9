// The page of a whole controller: its files, its token, and what is pushed, over real sockets.
#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/unit/http/raw_socket.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using wattle::http::test::RawSocket;

namespace {

constexpr const char* kListen = "GET /api/v1/live HTTP/1.1\r\nHost: a\r\n";

}  // namespace

TEST_CASE("the page is public and its data is not; a cookie opens data and stream as the token does") {
  World world(1);
  const std::string token_file = world.dir / "token";
  REQUIRE(write_file_atomically(token_file, "correct-horse-battery", 0400));
  world.config.http_access.token_file = token_file;
  world.start();
  const std::uint16_t port = world.controller->endpoints().http_port;
  const auto ask = [&](const std::string& request) {
    const RawSocket socket(port);
    socket.send(request + "Connection: close\r\n\r\n");
    return socket.read_to_end();
  };
  const std::string page = ask("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n");
  CHECK(page.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(page.find("Content-Security-Policy: default-src 'none'") != std::string::npos);
  CHECK(page.find("Content-Encoding: gzip\r\n") != std::string::npos);
  CHECK(ask("GET /api/v1/fleet HTTP/1.1\r\nHost: a\r\n").starts_with("HTTP/1.1 401 "));
  CHECK(ask(kListen).starts_with("HTTP/1.1 401 "));
  const std::string body = R"({"token":"correct-horse-battery"})";
  const std::string pass =
      ask("POST /page/pass HTTP/1.1\r\nHost: a\r\nX-Wattle: page\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\nConnection: close\r\n\r\n" + body);
  const auto at = pass.find("Set-Cookie: wattle_pass=");
  REQUIRE(at != std::string::npos);
  CHECK(pass.find("HttpOnly; SameSite=Strict") != std::string::npos);
  CHECK(pass.find("Secure") == std::string::npos);  // no TLS here
  const std::string cookie = "Cookie: " + pass.substr(at + 12, pass.find(';', at) - at - 12) + "\r\n";
  const std::string fleet = ask("GET /api/v1/fleet HTTP/1.1\r\nHost: a\r\n" + cookie);
  CHECK(fleet.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(fleet.find("Cache-Control: no-store\r\n") != std::string::npos);
  const RawSocket stream(port);
  stream.send(kListen + cookie + "\r\n");
  CHECK(stream.read_until("event: heat").starts_with("HTTP/1.1 200 OK\r\n"));
  const std::string metrics =
      ask("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer correct-horse-battery\r\n");
  CHECK(metrics.find("\nwattle_controller_page_streams 1\n") != std::string::npos);
  CHECK(metrics.find("\nwattle_controller_page_streams_dropped_total 0\n") != std::string::npos);
}

TEST_CASE("who looks sees nodes come, and a controller that ends ends his stream") {
  World world(1);
  world.start();
  const RawSocket stream(world.controller->endpoints().http_port);
  stream.send(std::string(kListen) + "\r\n");
  CHECK(stream.read_until("\"nodes\":0").find("event: fleet\n") != std::string::npos);
  const Agents agents = connect_agents(world, 1);
  std::string seen;
  while (seen.find("\"nodes\":1,") == std::string::npos) {
    const std::string more = stream.read_until("event: fleet");
    REQUIRE_FALSE(more.empty());
    seen += more;
  }
  world.controller.reset();
  stream.read_to_end();
}
