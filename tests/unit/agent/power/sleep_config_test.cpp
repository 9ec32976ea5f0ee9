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

TEST_CASE("an agent may not put its node to sleep unless its configuration allows it") {
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

TEST_CASE("an unknown depth, no depth and an unknown key are mistakes with a line, a key and a fix") {
  for (const auto& [power, named] :
       {std::pair{"{sleep: true, depths: [hibernate]}", "'hibernate' is no depth"},
        std::pair{"{sleep: true, depths: []}", "is empty"}, std::pair{"{sleep: true, deep: [off]}", "deep"}}) {
    const auto parsed = with_power(power);
    REQUIRE_FALSE(parsed);
    CAPTURE(parsed.error().message());
    CHECK(parsed.error().message().find(named) != std::string::npos);
    CHECK(parsed.error().message().find("agent.yaml:2") != std::string::npos);
  }
}
