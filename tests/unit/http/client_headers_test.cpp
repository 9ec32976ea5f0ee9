#include <doctest/doctest.h>

#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"

using namespace wattle::http;

TEST_CASE("a client sends its headers with every request, and returns those of the answer") {
  const wattle::Log log = wattle::Log::silent();
  Routes routes;
  routes["GET /headers"] = [](const Request& request) {
    Response response{200, "text/plain", request.headers.at("x-word") + " " + request.authorization, {}, nullptr};
    response.headers = {{"X-Auth-Token", "Token"}};
    return response;
  };
  auto server = Server::start({}, std::move(routes), log);
  REQUIRE(server);
  Client client("127.0.0.1", server->port());
  client.header("X-Word", "first");
  client.header("Authorization", "Basic abc");
  const auto first = client.request("GET", "/headers", "", wattle::tests::soon());
  REQUIRE(first);
  CHECK(first->body == "first Basic abc");
  CHECK(first->headers.at("x-auth-token") == "Token");
  client.header("X-Word", "second");
  CHECK(client.request("GET", "/headers", "", wattle::tests::soon())->body == "second Basic abc");
}

TEST_CASE("a header with a line end fails the request before it is sent, and is not repeated in the error") {
  Client client("127.0.0.1", 1);
  client.header("X-Word", "a\r\nHost: elsewhere");
  const auto answer = client.request("GET", "/", "", wattle::tests::soon());
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == wattle::Errc::malformed);
  CHECK(answer.error().message().find("elsewhere") == std::string::npos);
}
