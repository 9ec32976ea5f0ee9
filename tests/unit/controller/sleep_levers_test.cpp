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
  const json idle = get("status").value()["idle"]["sleeping"];
  CHECK(idle["nodes"] == made.sleeps.size());
  CHECK(idle["power_w"].get<double>() == doctest::Approx(core::saved_w(made)));
  CHECK(idle["assumption"].get<std::string>().find("of the sleep plan") != std::string::npos);
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
