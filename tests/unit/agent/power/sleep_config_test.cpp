#include "agent/power/sleep_config.hpp"

#include <doctest/doctest.h>

#include "agent/config.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
Result<AgentConfig> with_power(const std::string& power) {
  return parse_config("node: n\npower: " + power + "\n", "agent.yaml");
}
}  // namespace

TEST_CASE("an agent may not put its node to sleep unless its configuration permits it") {
  const auto none = parse_config("node: n\n", "agent.yaml");
  REQUIRE(none);
  CHECK_FALSE(none->power.allows(SleepDepth::suspend));
  const auto both = with_power("{sleep: true}");
  REQUIRE(both);
  CHECK(both->power.allows(SleepDepth::suspend));
  CHECK(both->power.allows(SleepDepth::off));
  const auto one = with_power("{sleep: true, depths: [suspend]}");
  REQUIRE(one);
  CHECK(one->power.allows(SleepDepth::suspend));
  CHECK_FALSE(one->power.allows(SleepDepth::off));
  CHECK_FALSE(with_power("{depths: [suspend]}")->power.allows(SleepDepth::suspend));
}

TEST_CASE("an unknown depth, no depth and an unknown key are errors with a line, a key and a fix") {
  for (const auto& [power, named] :
       {std::pair{"{sleep: true, depths: [hibernate]}", "'hibernate' is not a depth"},
        std::pair{"{sleep: true, depths: []}", "is empty"}, std::pair{"{sleep: true, deep: [off]}", "deep"}}) {
    const auto parsed = with_power(power);
    REQUIRE_FALSE(parsed);
    CAPTURE(parsed.error().message());
    CHECK(parsed.error().message().find(named) != std::string::npos);
    CHECK(parsed.error().message().find("agent.yaml:2") != std::string::npos);
  }
}

TEST_CASE("a node may be shallow only if its list of depths says so, alone or with others") {
  CHECK_FALSE(with_power("{sleep: true}")->power.allows_shallow());
  const auto alone = with_power("{sleep: true, depths: [shallow]}");
  REQUIRE(alone);
  CHECK(alone->power.allows_shallow());
  CHECK_FALSE(alone->power.allows(SleepDepth::suspend));
  const auto both = with_power("{sleep: true, depths: [suspend, shallow]}");
  REQUIRE(both);
  CHECK(both->power.allows_shallow());
  CHECK(both->power.allows(SleepDepth::suspend));
  CHECK_FALSE(with_power("{sleep: false, depths: [shallow]}")->power.allows_shallow());
}

TEST_CASE("shallow is an error if services have latency targets, or if the tick detects work too late") {
  const std::string power = "node: n\npower: {sleep: true, depths: [shallow]}\n";
  for (const std::string more :
       {"provisioning: {connections: [{workload: web, target: 50ms}]}\n",
        "provisioning: {latency: [{workload: web, url: 'http://127.0.0.1:1/m', histogram: h, target: 1s}]}\n",
        "tick: 6s\n"}) {
    CAPTURE(more);
    const auto parsed = parse_config(power + more, "agent.yaml");
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message().find("agent.yaml:2") != std::string::npos);
    CHECK(parsed.error().message().find("'shallow'") != std::string::npos);
  }
  CHECK(parse_config(power + "tick: 5s\n", "agent.yaml"));
}
