#include "agent/config.hpp"

#include <doctest/doctest.h>

#include "agent/incarnation.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;

TEST_CASE("a full configuration is read as it is written") {
  const auto config = parse_config(R"(
node: worker-1
tick: 250ms
state_dir: /tmp/x
outbox_records: 10
pod_capacity: 110
labels: {zone: a}
pod_parents: [/jobs]
controller: {endpoint: "tcp://127.0.0.1:7460", server_key: s.pub, key: a.key}
http: {address: 0.0.0.0, port: 9460}
roots: {proc: /host/proc, sys: /host/sys}
probes:
  - {name: default, host: gateway, port: 443}
estimate: {idle_w: 50, max_w: 200, curve: [0, 0.7, 1]}
log: {level: debug, format: json}
)",
                                   "agent.yaml");
  REQUIRE_MESSAGE(config.has_value(), config.error().message());
  CHECK(config->node == "worker-1");
  CHECK(config->tick == std::chrono::milliseconds(250));
  CHECK(config->controller.server_key_file == "s.pub");
  CHECK(*config->http_port == 9460);
  CHECK(config->roots.proc == "/host/proc");
  REQUIRE(config->probes.size() == 1);
  CHECK(config->probes[0].port == 443);
  CHECK(*config->estimate.max_w == doctest::Approx(200));
  CHECK(config->log_level == LogLevel::debug);
}

TEST_CASE("an empty configuration is this host at one tick a second") {
  const auto config = parse_config("{}", "agent.yaml");
  REQUIRE(config.has_value());
  CHECK(config->node == host_name());
  CHECK(config->tick == std::chrono::seconds(1));
  CHECK_FALSE(config->http_port.has_value());
}

TEST_CASE("every mistake is named at once") {
  const auto config = parse_config(R"(
tick: 50ms
nodes: x
controller: {endpoint: "tcp://c:1"}
probes: [{name: a, host: h, port: 0}, {name: a, host: h, port: 1}]
estimate: {idle_w: 5}
pod_parents: [jobs]
)",
                                   "agent.yaml");
  REQUIRE_FALSE(config.has_value());
  const std::string message = config.error().message();
  CAPTURE(message);
  for (const char* part :
       {"tick", "nodes", "controller.server_key", "controller.key", "port", "twice", "max_w", "'jobs'"})
    CHECK_MESSAGE(message.find(part) != std::string::npos, part);
}

TEST_CASE("an incarnation rises at each start, whatever becomes of clock and file") {
  const agent::test::Tree tree;
  const std::string dir = tree.path() + "/state";
  const WallTime now = wall_from_ns(1'000'000'000LL * 1'700'000'000);
  const auto first = next_incarnation(dir, now);
  REQUIRE(first.has_value());
  CHECK(*first == 1'700'000'000);
  CHECK(*next_incarnation(dir, now) == *first + 1);
  CHECK(*next_incarnation(dir, wall_from_ns(0)) == *first + 2);  // the clock was set back
  tree.remove("state/incarnation");
  CHECK(*next_incarnation(dir, now + std::chrono::seconds(60)) > *first + 2);  // the file was lost
  tree.put("state/incarnation", "soon\n");
  const auto broken = next_incarnation(dir, now);
  REQUIRE_FALSE(broken.has_value());
  CHECK(broken.error().subject.ends_with("state/incarnation"));
}
