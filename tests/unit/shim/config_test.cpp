#include "shim/config.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("every mistake is told at once, with its key") {
  const auto config = parse_config(
      "listen: {port: 70000}\ncontroller: {ask: here, server_key: /s}\ndeadline: soon\nlog: {level: loud}\nwatt: 1\n",
      "shim.yaml");
  REQUIRE_FALSE(config);
  for (const char* part :
       {"listen.port", "controller.ask", "controller.key", "deadline", "log.level", "watt: unknown key"})
    CHECK_MESSAGE(config.error().what.find(part) != std::string::npos, part);
}
