#include "agent/echo.hpp"

#include <doctest/doctest.h>

#include "common/http/client.hpp"

using namespace wattle;
using namespace wattle::agent;

TEST_CASE("an echo returns its own word or the caller's, if that is short and plain") {
  const auto ask = [](const std::string& nonce) { return echo({"GET", "/echo", {{"nonce", nonce}}, ""}); };
  CHECK(echo({"GET", "/echo", {}, ""}).body == "ok\n");
  CHECK(ask("a-Z_9").body == "a-Z_9\n");
  CHECK(ask(std::string(64, 'x')).status == 200);
  CHECK(ask(std::string(65, 'x')).status == 400);
  for (const char* strange : {"<b>", "a b", "\r\n", "\xc3\xa9"}) {
    CHECK(ask(strange).status == 400);
    CHECK(ask(strange).body.find(strange) == std::string::npos);
  }
}

TEST_CASE("an echo server serves only the echo, and accepts no body") {
  const Log log = Log::silent();
  auto server = serve_echo("127.0.0.1", 0, log);
  REQUIRE_MESSAGE(server.has_value(), server.error().message());
  http::Client client("127.0.0.1", server->port());
  const auto patience = std::chrono::seconds(30);
  auto answer = client.request("GET", "/echo?nonce=n1", "", patience);
  REQUIRE_MESSAGE(answer.has_value(), answer.error().message());
  CHECK(answer->body == "n1\n");
  CHECK(client.request("GET", "/metrics", "", patience)->status == 404);
  CHECK(client.request("GET", "/echo", "x", patience)->status == 413);
}
