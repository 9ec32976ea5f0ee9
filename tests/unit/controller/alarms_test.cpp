// alarms: one line per problem, the worst first, and idle energy with its cost.
#include "controller/web/alarms.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "controller/web/fleet_json.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/controller/parts_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> kinds(PartsRig& rig) {
  const auto sums = std::make_shared<FleetSums>();
  finish(sum_fleet(rig.parts(), sums));
  std::vector<std::string> out;
  for (const Alarm& alarm : alarms(rig.parts(), *sums)) out.push_back(alarm.what);
  return out;
}

}  // namespace

TEST_CASE("there is no alarm when all is well; a silent node or shim raises one") {
  PartsRig rig(Mode::live);
  rig.state.greet(hello_of("n1"));
  rig.clock.advance(1s);
  rig.state.apply("n1", record_at(1), rig.clock.mono());
  CHECK(kinds(rig).empty());
  CHECK(rig.get("status").value()["alarms"].empty());
  REQUIRE(rig.shims.beat("shim/a", {{"host", "h"}}, rig.clock.mono()));
  CHECK(kinds(rig).empty());
  rig.clock.advance(60s);
  CHECK(kinds(rig) == std::vector<std::string>{"shim", "nodes"});
  const wattle::SortedJson alarm = rig.get("status").value()["alarms"][0];
  CHECK(alarm["text"].get<std::string>().find("the shim shim/a on h is silent") == 0);
  CHECK(alarm["view"] == "health");
  CHECK(alarm["command"] == "wattle doctor");
}

TEST_CASE("overload raises an alarm, a finding with a fix, and a metric, until it is over") {
  PartsRig rig(Mode::live);
  const auto telemetry = [&] {
    const wattle::SortedJson doctor = rig.get("doctor").value();
    for (const auto& finding : doctor["controller"]["findings"])
      if (finding["name"] == "telemetry") return finding;
    return wattle::SortedJson();
  };
  CHECK(telemetry()["state"] == "ok");
  rig.telemetry.shed({2500ms, 4});
  CHECK(kinds(rig) == std::vector<std::string>{"overload"});
  CHECK(rig.get("status").value()["alarms"][0]["text"].get<std::string>().find("every 2.5 s") != std::string::npos);
  CHECK(telemetry()["state"] == "lost");
  CHECK(telemetry()["fix"].get<std::string>().find("CPU") != std::string::npos);
  CHECK(finished(metrics_text(rig.parts()))->find("\nwattle_controller_overload_tick_seconds 2.5\n") !=
        std::string::npos);
  rig.telemetry.shed({});
  CHECK(kinds(rig).empty());
  CHECK(telemetry()["state"] == "ok");
}

TEST_CASE("the alarm about idle energy has its cost, and the one about sleep has its assumption") {
  FleetSums sums;
  CHECK(idle_json({}, sums, {})["power_w"].is_null());
  CHECK(idle_json({}, sums, {})["sleeping"]["power_w"] == 0.0);
  sums.measured_w = 500;
  sums.idle_w = 400;
  const wattle::SortedJson idle = idle_json({0.25, 400, "EUR"}, sums, {2, 100, "two nodes slept"});
  CHECK(idle["ratio"] == 0.8);
  CHECK(idle["energy_j_per_day"] == 400.0 * 86'400);
  CHECK(idle["cost_per_day"].get<double>() == doctest::Approx(400 * 24 / 1000.0 * 0.25));
  CHECK(idle["sleeping"]["power_w"] == 100.0);
  CHECK(idle["sleeping"]["nodes"] == 2);
  CHECK(idle["sleeping"]["co2_g_per_day"].get<double>() == doctest::Approx(2.4 * 400));
  CHECK(idle["sleeping"]["assumption"] == "two nodes slept");
}
