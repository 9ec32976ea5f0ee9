#include "shim/config.hpp"

#include <doctest/doctest.h>

#include "tests/places.hpp"

using namespace std::chrono_literals;
using wattle::shim::parse_config;

TEST_CASE("only the key files have no default") {
  const auto config = parse_config("controller: {key: /k, server_key: /s}", "shim.yaml");
  REQUIRE(config);
  CHECK(config->listen_port == 8888);
  CHECK(config->deadline == 20ms);
  CHECK(config->ask_endpoint == "tcp://127.0.0.1:7462");
  CHECK(config->key_file == "/k");
}

TEST_CASE("all errors are reported at once, each with its key") {
  const auto config = parse_config(
      "listen: {port: 70000}\ncontroller: {ask: here, server_key: /s}\ndeadline: soon\nlog: {level: loud}\nwatt: 1\n",
      "shim.yaml");
  REQUIRE_FALSE(config);
  for (const char* part :
       {"listen.port", "controller.ask", "controller.key", "deadline", "log.level", "watt: unknown key"})
    CHECK_MESSAGE(config.error().what.find(part) != std::string::npos, part);
}

TEST_CASE("an endpoint that cannot be connected to is an error, not a reason to retry") {
  for (const char* wrong : {"tcp://c:99999", "tcp://c", "tcp://c:0", "tcp://*:7462", "http://c:7462"}) {
    const auto config = parse_config(
        std::string("controller: {ask: '") + wrong + "', feed: '" + wrong + "', key: /k, server_key: /s}\n",
        "shim.yaml");
    REQUIRE_FALSE(config);
    for (const char* key : {"controller.ask", "controller.feed"})
      CHECK(config.error().what.find(std::string(key) + ": '" + wrong + "' is not an endpoint") != std::string::npos);
  }
}

TEST_CASE("a shim that other hosts reach needs TLS, because kube-scheduler sends no token") {
  const std::string keys = "controller: {key: /k, server_key: /s}\n";
  CHECK_FALSE(parse_config(keys + "listen: {address: 0.0.0.0}\n", "shim.yaml"));
  CHECK_FALSE(parse_config(keys + "listen: {address: 0.0.0.0}\nhttp: {token_file: /t}\n", "shim.yaml"));
  CHECK(parse_config(keys + "listen: {address: 0.0.0.0, insecure: true}\n", "shim.yaml"));
  const auto secure = parse_config(keys + "listen: {address: 0.0.0.0, tls: {certificate: /c, key: /k}}\n", "shim.yaml");
  REQUIRE(secure);
  CHECK(secure->listen_access.tls.key == "/k");
}

TEST_CASE("probes and metrics have an endpoint of their own if configured, which a token protects") {
  const std::string keys = "controller: {key: /k, server_key: /s}\n";
  CHECK_FALSE(parse_config(keys, "shim.yaml")->http_port);
  CHECK_FALSE(parse_config(keys + "http: {address: 0.0.0.0, port: 9462}\n", "shim.yaml"));
  const auto guarded = parse_config(keys + "http: {address: 0.0.0.0, port: 9462, token_file: /t}\n", "shim.yaml");
  REQUIRE(guarded);
  CHECK(guarded->http_port == 9462);
  CHECK(guarded->listen_address == "127.0.0.1");
}
