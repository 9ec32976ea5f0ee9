#include "sim/env/env_protocol.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::sim;
using json = wattle::SortedJson;

namespace {

EnvOptions small() {
  EnvOptions options;
  options.scenario = find_scenario("churn_sleep").value();
  options.scenario.placements = 25;
  return options;
}

json ask(EnvServer& server, const std::string& line) { return json::parse(server.answer(line)); }

}  // namespace

TEST_CASE("an episode over lines equals the episode of the environment, value for value") {
  EnvServer server(small());
  Env env(small());
  json reported = ask(server, R"({"op":"reset","seed":4})");
  EnvStep step = env.reset(4);
  std::size_t steps = 0;
  for (; !step.done; ++steps) {
    REQUIRE_FALSE(reported["done"].get<bool>());
    const json& observation = reported["observation"];
    REQUIRE(observation["mask"].get<std::vector<std::uint8_t>>() == step.observation.valid);
    REQUIRE(observation["prior"].get<std::vector<float>>() == step.observation.prior);
    std::vector<float> flat;
    for (const json& row : observation["nodes"])
      for (const json& value : row) flat.push_back(value.get<float>());
    REQUIRE(flat == step.observation.node);
    std::size_t action = 0;
    while (step.observation.valid[action] == 0) ++action;
    step = env.step(action).value();
    reported = ask(server, R"({"op":"step","action":)" + std::to_string(action) + "}");
    CHECK(reported["reward"].get<double>() == step.reward);
    CHECK(reported["settled"].get<std::uint64_t>() == step.settled);
  }
  CHECK(steps == 25);
  CHECK(reported["done"].get<bool>());
  CHECK(reported["figures"]["energy_j"].get<double>() == env.world().figures().energy_j);
}

TEST_CASE("figures that only judges may know are reported only at the end") {
  EnvServer server(small());
  json reported = ask(server, R"({"op":"reset","seed":1})");
  while (!reported["done"].get<bool>()) {
    CHECK_FALSE(reported.contains("figures"));
    const auto mask = reported["observation"]["mask"].get<std::vector<int>>();
    const auto action = std::find(mask.begin(), mask.end(), 1) - mask.begin();
    reported = ask(server, R"({"op":"step","action":)" + std::to_string(action) + "}");
  }
  CHECK(reported.contains("figures"));
}

TEST_CASE("invalid requests are refused by name, and the episode continues") {
  EnvServer server(small());
  const auto refused = [&](const std::string& line, const std::string& code) {
    CAPTURE(line);
    const json answer = ask(server, line);
    REQUIRE(answer.contains("error"));
    CHECK(answer["error"]["code"] == code);
    CHECK_FALSE(answer["error"]["what"].get<std::string>().empty());
  };
  refused(R"({"op":"step","action":0})", "conflict");
  ask(server, R"({"op":"reset","seed":1})");
  for (const char* line : {"", "{", "[]", "7", R"({"op":null})", R"({"op":"fly"})", R"({"op":"reset"})",
                           R"({"op":"reset","seed":-1})", R"({"op":"reset","seed":1.5})", R"({"op":"step","seed":1})",
                           R"({"op":"hello","more":{}})", "\xff\xfe", R"({"op":"step","action":1e3})"})
    refused(line, "malformed");
  refused(std::string(kMaxRequestBytes + 1, ' '), "out_of_range");
  refused(R"({"op":"step","action":18446744073709551615})", "out_of_range");
  CHECK(ask(server, R"({"op":"step","action":0})").contains("observation"));
  CHECK_FALSE(server.closed());
  CHECK(ask(server, R"({"op":"close"})")["closed"].get<bool>());
  CHECK(server.closed());
}
