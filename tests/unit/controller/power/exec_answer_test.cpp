#include "controller/power/exec_answer.hpp"

#include <doctest/doctest.h>

using namespace wattle::controller::power;

TEST_CASE("a program's observation has a state and may have watts") {
  const auto off = parse_exec_observation(R"({"state": "off", "power_w": 9.5})", "power");
  REQUIRE(off);
  CHECK(off->state == PowerState::off);
  CHECK(off->power_w == 9.5);
  CHECK(parse_exec_observation(R"({"state": "on"})", "power")->state == PowerState::on);
  CHECK_FALSE(parse_exec_observation(R"({"state": "unknown"})", "power")->power_w);
}

TEST_CASE("a program's capabilities list each depth once, from light to deep") {
  const auto able = parse_exec_capabilities(R"({"depths": ["off", "suspend", "off"], "wake_time_s": 150})", "power");
  REQUIRE(able);
  CHECK(able->depths == std::vector<Depth>{Depth::suspend, Depth::off});
  CHECK(able->wake_s == 150.0);
  CHECK_FALSE(able->asleep_w);
}

TEST_CASE("an invalid answer is refused with its text and an example") {
  for (const char* text : {"", "off", "[]", "{}", R"({"state": "Off"})", R"({"state": 1})",
                           R"({"state": "on", "power_w": -1})", R"({"state": "on", "power_w": "90"})",
                           R"({"state": "on", "power_w": 1e9})", R"({"state": "on", "powerw": 90})"}) {
    CAPTURE(text);
    const auto answer = parse_exec_observation(text, "power");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == wattle::Errc::malformed);
    CHECK(answer.error().subject == "power");
    CHECK(answer.error().what.find(text) != std::string::npos);
    CHECK_FALSE(answer.error().fix.empty());
  }
  for (const char* text : {"", "{}", R"({"depths": "off"})", R"({"depths": ["deep"]})", R"({"depths": [1]})",
                           R"({"depths": [], "wake_time_s": 1e6})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_exec_capabilities(text, "power"));
  }
  CHECK(parse_exec_observation(R"({"state": "on", "powerw": 90})", "power").error().what.find("power_w") !=
        std::string::npos);
}
