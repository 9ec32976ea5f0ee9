// sleep_levers: savings and the page's idle line have the nodes and the watts of the sleep plan.
#include "controller/web/sleep_levers.hpp"

#include <doctest/doctest.h>

#include "placement/sleep/plan_saving.hpp"
#include "tests/unit/controller/sleep_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;
namespace core = wattle::placement::sleep;

TEST_CASE_FIXTURE(SleepRig, "savings and the idle line are those of the plan, with its reasons to keep nodes awake") {
  const auto lever = [this](const char* name) {
    const json levers = get("savings").value()["levers"];
    for (const json& each : levers)
      if (each["lever"] == name) return each;
    return json();
  };
  CHECK(lever("sleep")["saved_w"].is_null());
  CHECK(lever("drain")["text"] == "unknown: no sleep plan has been made yet");
  const core::SleepPlan made = plan();
  const json found = lever("sleep");
  CHECK(found["nodes"] == made.sleeps.size());
  CHECK(found["saved_w"].get<double>() == doctest::Approx(core::saved_w(made)));
  CHECK(found["saved_w"].get<double>() > 0);
  std::size_t kept = 0;
  for (const json& each : found["kept"]) kept += each["nodes"].get<std::size_t>();
  CHECK(kept == made.kept.size());
  CHECK(lever("drain")["nodes"] == 0);
  CHECK(found["no_interval"] == "how much the pods change is unknown before two days of telemetry");
  for (int hour = 0; hour <= 48; ++hour) {
    report();
    clock.advance(std::chrono::hours(1) - power::kPlanEvery);
    finish(series.sample(parts()));
  }
  for (const char* name : {"sleep", "drain"}) {
    const json later = lever(name);
    CHECK(later["no_interval"].is_null());
    CHECK(later["saved_low_w"].get<double>() < later["saved_w"].get<double>() + 1e-9);
    CHECK(later["saved_high_w"].get<double>() > later["saved_w"].get<double>());
  }
  const json idle = get("status").value()["idle"]["sleeping"];
  CHECK(idle["nodes"] == made.sleeps.size());
  CHECK(idle["power_w"].get<double>() == doctest::Approx(core::saved_w(made)));
  CHECK(idle["assumption"].get<std::string>().find("of the sleep plan") != std::string::npos);
}

TEST_CASE("times asleep are those of nodes that woke, without tests") {
  using State = core::PowerState;
  const auto at = [](int second) { return WallTime{} + std::chrono::seconds(second); };
  const std::deque<power::SleepTransition> history{
      {at(1), "a", State::asleep, State::waking, "it slept before the history", 1},
      {at(2), "a", State::suspending, State::asleep, "observed off", 2},
      {at(3), "b", State::suspending, State::asleep, "observed off", 3},
      {at(4), "c", State::suspending, State::asleep, "it still sleeps", 4},
      {at(9), "b", State::asleep, State::waking, std::string(power::kEndOfTest), 3},
      {at(12), "a", State::asleep, State::waking, "a pod waits", 2}};
  CHECK(power::times_asleep_s(history) == std::vector<double>{10});
}

TEST_CASE_FIXTURE(SleepRig, "if no node could sleep, the idle line has the most frequent reason") {
  const auto idle = [this] { return get("status").value()["idle"]["sleeping"]; };
  CHECK(idle()["assumption"] == "unknown: no sleep plan has been made yet");
  for (int i = 1; i <= 6; ++i) control->exclude("n" + std::to_string(i), "disk check", "operator/ann");
  const std::size_t kept = plan().kept.size();
  CHECK(kept == 6);
  CHECK(idle()["nodes"] == 0);
  const auto text = idle()["assumption"].get<std::string>();
  CAPTURE(text);
  CHECK(text.starts_with("6 nodes stay awake; reason for "));
  CHECK(text.find("disk check") != std::string::npos);
}

TEST_CASE_FIXTURE(SleepRig, "a node that the plan empties is listed as a drain, with its moves and its net saving") {
  for (int i = 1; i <= 6; ++i) {
    placement::PodSpec spec;
    spec.uid = "p" + std::to_string(i);
    spec.name = "web-" + std::to_string(i);
    spec.pod_namespace = "shop";
    spec.request = {0.5, 1e9};
    decider->placements().described(spec);
    decider->placements().bound(spec.uid, "n" + std::to_string(i), false);
  }
  const core::SleepPlan made = plan();
  REQUIRE(made.sleeps.size() == 1);
  const json levers = get("savings").value()["levers"];
  for (const json& each : levers) {
    if (each["lever"] == "sleep") CHECK(each["nodes"] == 0);
    if (each["lever"] != "drain") continue;
    CHECK(each["saved_w"].get<double>() == doctest::Approx(made.sleeps[0].saved_j / made.sleeps[0].gap_s));
    CHECK(each["items"][0]["name"] == made.sleeps[0].node);
    CHECK(each["items"][0]["text"] ==
          "1 pod moves: " + made.sleeps[0].moves[0].name + " to " + made.sleeps[0].moves[0].target);
    CHECK(each["command"].is_null());  // no API server
  }
}
