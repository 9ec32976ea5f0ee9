// server_fixture: a server with a few routes, for the tests of requests and of limits.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/http/client.hpp"
#include "common/http/server.hpp"
#include "tests/patience.hpp"

namespace wattle::http::test {

struct Fixture {
  explicit Fixture(ServerOptions options = {}, std::size_t most_body_bytes = 400'000) {
    Routes routes;
    routes["GET /hello"] = [](const Request& request) {
      const auto name = request.query.find("name");
      return Response{200, "text/plain", "hello " + (name == request.query.end() ? std::string("you") : name->second)};
    };
    routes["POST /echo"] = {[](const Request& request) {
                              return Response{200, "text/plain", request.body};
                            },
                            most_body_bytes};
    routes["POST /small"] = [](const Request& request) { return Response{200, "text/plain", request.body}; };
    routes["POST /checked"] = {[](const Request&) { return Response{}; }, most_body_bytes,
                               [](const Request& request) -> std::optional<Response> {
                                 if (request.headers.contains("x-wattle")) return std::nullopt;
                                 return Response{403, "text/plain", "no\n"};
                               }};
    routes["GET /tree/"] = [](const Request& request) { return Response{200, "text/plain", request.path}; };
    routes["GET /throws"] = [](const Request&) -> Response { throw std::runtime_error("on purpose"); };
    auto started = Server::start(options, std::move(routes), log);
    REQUIRE(started);
    server.emplace(std::move(*started));
  }
  Client client() const { return Client("127.0.0.1", server->port()); }
  bool lives() const {
    auto answer = client().request("GET", "/hello", "", wattle::tests::soon());
    return answer && answer->status == 200 && answer->body == "hello you";
  }
  Log log = Log::silent();
  std::optional<Server> server;
};

inline std::string first_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

}  // namespace wattle::http::test
