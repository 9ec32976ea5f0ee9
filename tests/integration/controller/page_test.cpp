// The page of a controller over real sockets: its files, its token, and pushed events.
#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/unit/http/raw_socket.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using wattle::http::test::RawSocket;

namespace {

constexpr const char* kListen = "GET /api/v1/live HTTP/1.1\r\nHost: a\r\n";

}  // namespace

TEST_CASE("the page is public but its data is not; a cookie grants access to data and stream like the token") {
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
  CHECK(metrics.find("\nwattle_controller_page_streams_dropped_total 0\n") != std::string::npos);
}

TEST_CASE("a viewer's stream shows new nodes and ends when the controller ends") {
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

TEST_CASE(
    "the operator's token allows changing the mode from the page; a viewer's token and loopback do "
    "not") {
  World world(1);
  world.config.mode = Mode::shadow;
  world.config.http_access.token_file = world.dir / "token";
  world.config.operator_token_file = world.dir / "operator.token";
  REQUIRE(write_file_atomically(world.config.http_access.token_file, "correct-horse-battery", 0400));
  // The viewer's token must not change anything.
  REQUIRE(write_file_atomically(world.config.operator_token_file, "correct-horse-battery", 0400));
  const auto alike = Controller::start(world.config, world.clock, world.log);
  REQUIRE_FALSE(alike);
  CHECK(alike.error().code == Errc::conflict);
  CHECK(alike.error().subject == world.config.operator_token_file);
  REQUIRE(write_file_atomically(world.config.operator_token_file, "an-operators-word-1", 0400));
  world.start();
  const auto change = [&](const std::string& headers, const std::string& body) {
    const RawSocket socket(world.controller->endpoints().http_port);
    socket.send("POST /page/change HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n" +
                headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return socket.read_to_end();
  };
  const std::string own = "X-Wattle: page\r\n", right = "Authorization: Bearer an-operators-word-1\r\n";
  const std::string off = R"({"mode": "off", "why": "to see"})";
  CHECK(change(own, off).starts_with("HTTP/1.1 401 "));
  CHECK(change(own + "Authorization: Bearer correct-horse-battery\r\n", off).starts_with("HTTP/1.1 401 "));
  CHECK(change(right, off).starts_with("HTTP/1.1 403 "));
  CHECK(change(own + right + "Sec-Fetch-Site: cross-site\r\n", off).starts_with("HTTP/1.1 403 "));
  const std::string closed = change(own + right, R"({"mode": "live", "why": "to see"})");
  CHECK(closed.starts_with("HTTP/1.1 409 "));
  CHECK(closed.find("is the next mode") != std::string::npos);
  CHECK(change(own + right, R"({"mode": "asleep"})").starts_with("HTTP/1.1 400 "));
  const auto policy = [&] {
    auto client = world.ask_client(world.reader);
    return answer(client, "policy");
  };
  CHECK(policy()["mode"] == "shadow");
  const std::string made = change(own + right, off);
  CHECK(made.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(made.find("\"ranked_by\":") != std::string::npos);
  const wattle::SortedJson now = policy();
  CHECK(now["mode"] == "off");
  std::map<std::string, std::string> why_of;  // also contains consequences of a change
  for (const auto& each : now["changes"])
    if (each["who"] == "page/127.0.0.1") why_of[each["what"].get<std::string>()] = each["why"].get<std::string>();
  CHECK(why_of.size() == 2);
  CHECK(why_of["mode shadow -> off"] == "to see");
  CHECK(why_of.contains("promotion to live refused"));
  const RawSocket metrics(world.controller->endpoints().http_port);
  metrics.send(
      "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer correct-horse-battery\r\nConnection: close\r\n\r\n");
  const std::string figures = metrics.read_to_end();
  CHECK(figures.find("refused_total{socket=\"http\",reason=\"token\"} 2\n") != std::string::npos);
  CHECK(figures.find("refused_total{socket=\"http\",reason=\"foreign\"} 2\n") != std::string::npos);
}
