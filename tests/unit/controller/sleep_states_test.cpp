// sleep_states: sleeping nodes are not silent, and documents, alarms and metrics show the state of sleep.
#include "controller/web/sleep_states.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "controller/power/power_store.hpp"
#include "controller/web/metrics.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/fake_power.hpp"
#include "tests/unit/controller/sleep_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;
namespace core = wattle::placement::sleep;

namespace {

// Six nodes of a controller that restarts: n1 is asleep, n2 wakes, n3 has failed, n4 is blocked, and n5 is blocked by
// an operator. n6 has no record.
struct StatesRig : SleepRig {
  wattle::test::TempDir dir;

  StatesRig() : SleepRig(core::SleepMode::automatic) {
    drivers = std::make_shared<power::FakePower>();
    config.sleep.drivers_file = "drivers.yaml";
    config.sleep.drivers = std::make_shared<const power::PowerConfig>();
    control.reset();
    StoreOptions options;
    options.file.path = dir.file("store.db");
    store = Store::start(options, clock, log).value();
    power::PowerRows rows;
    add(rows, "n1", core::PowerState::asleep, "empty");
    add(rows, "n2", core::PowerState::waking, "pod shop/web fits on no awake node");
    add(rows, "n3", core::PowerState::failed, "it does not wake");
    add(rows, "n4", core::PowerState::blocked, "too many failed sleeps");
    add(rows, "n5", core::PowerState::blocked, "disk check");
    for (const char* node : {"n1", "n2", "n1"})
      rows.transitions.push_back({clock.wall(), node, core::PowerState::idle, core::PowerState::suspending, "empty",
                                  rows.transitions.size() + 1});
    REQUIRE(power::power_store_in(*store)->keep(std::move(rows)).get());
    begin_control();
    report();
    for (const char* node : {"n1", "n2", "n3"}) state.disconnect(node);
  }
  ~StatesRig() { control.reset(); }
  void add(power::PowerRows& rows, const std::string& name, core::PowerState node_state, const std::string& reason) {
    core::NodePowerRecord record;
    record.node = name;
    record.state = node_state;
    record.reason = reason;
    record.since = clock.wall();
    record.operation = 7;
    record.round_trips = 2;
    record.last_slept = clock.wall();
    if (node_state == core::PowerState::waking) record.measured = {6.0, 600.0, 60.0, 9000.0, 5.0};
    rows.nodes.push_back({name, record, {}});
  }
  json document_of(const std::string& what, const Arguments& arguments = {}) {
    return json::parse(finished(document(parts(), what, arguments)).value());
  }
  std::vector<std::string> alarm_texts() {
    std::vector<std::string> texts;
    const json all = document_of("status")["alarms"];
    for (const json& each : all)
      if (each["what"] == "sleep") texts.push_back(each["text"].get<std::string>());
    return texts;
  }
};

}  // namespace

TEST_CASE_FIXTURE(StatesRig, "a sleeping or waking node is asleep, not silent, and its telemetry has no age") {
  const json status = document_of("status");
  CHECK(status["nodes_asleep"] == 2);
  const json fleet = document_of("fleet")["fleet"];
  CHECK(fleet["nodes_asleep"] == 2);
  CHECK(fleet["nodes_silent"] == 1);  // n3: it was lost
  const json sleepers = document_of("nodes", {{"state", "asleep"}})["nodes"];
  REQUIRE(sleepers.size() == 2);
  CHECK(sleepers[0]["name"] == "n1");
  CHECK(sleepers[0]["power"]["state"] == "asleep");
  CHECK(sleepers[0]["power"]["reason"] == "empty");
  CHECK(document_of("nodes", {{"state", "silent"}})["nodes"][0]["power"]["state"] == "failed");
  CHECK(document_of("nodes")["nodes"][5]["power"].is_null());
  const std::string metrics = finished(metrics_text(parts())).value();
  CHECK(metrics.find("wattle_controller_node_telemetry_age_seconds{node=\"n1\"}") == std::string::npos);
  CHECK(metrics.find("wattle_controller_node_up{node=\"n2\"}") == std::string::npos);
  CHECK(metrics.find("wattle_controller_node_up{node=\"n3\"} 0") != std::string::npos);
}

TEST_CASE_FIXTURE(StatesRig, "a failed or blocked node is an alarm; one that an operator excluded is not") {
  const std::vector<std::string> before = alarm_texts();
  REQUIRE(before.size() == 2);
  CHECK(before[0] == "node n3 failed to sleep or wake: it does not wake");
  CHECK(before[1] == "2 nodes may not sleep for now: n4, n5");
  REQUIRE(control->order("sleep-exclude", {{"node", "n5"}, {"why", "disk check"}}, "operator/ann"));
  CHECK(alarm_texts()[1] == "node n4 may not sleep for now: too many failed sleeps");
  const json nodes = document_of("sleep")["nodes"];
  for (const json& each : nodes)
    if (each["name"] == "n5") CHECK(each["state"] == "awake");
}

TEST_CASE_FIXTURE(StatesRig, "the document has each record, and transitions of one node or of all, the newest first") {
  const json found = document_of("sleep");
  REQUIRE(found["nodes"].size() == 5);
  const json& first = found["nodes"][0];
  CHECK(first["name"] == "n1");
  CHECK(first["operation"] == 7);
  CHECK(first["round_trips"] == 2);
  CHECK(first["round_trips_needed"] == 3);
  CHECK(first["last_woken_wall_s"].is_null());
  CHECK(first["transitions_measured"] == false);
  CHECK(found["nodes"][1]["transitions_measured"] == true);
  CHECK(found["nodes"][1]["transitions_j"] == 9600);
  CHECK(found["totals"]["cycles"] == 0);
  CHECK(found["totals"]["transitions_j"] == 0);
  CHECK(found["totals"]["cost"].is_null());
  config.tariff = {0.3, 380, "EUR"};
  CHECK(document_of("sleep")["totals"]["cost"] == 0);
  REQUIRE(found["transitions"].size() == 3);
  CHECK(found["transitions"][0]["operation"] == 3);
  CHECK(document_of("sleep", {{"limit", "1"}})["transitions"].size() == 1);
  CHECK(document_of("sleep", {{"node", "n2"}})["transitions"].size() == 1);
  CHECK(document_of("sleep", {{"node", "n6"}})["transitions"].empty());
  CHECK(finished(document(parts(), "sleep", {{"node", "n9"}})).error().code == Errc::not_found);
  CHECK(finished(document(parts(), "sleep", {{"limit", "0"}})).error().code == Errc::malformed);
}

TEST_CASE_FIXTURE(StatesRig, "metrics count nodes by state") {
  const std::string metrics = finished(metrics_text(parts())).value();
  for (const char* line :
       {"wattle_controller_sleep_nodes{state=\"asleep\"} 1", "wattle_controller_sleep_nodes{state=\"failed\"} 1",
        "wattle_controller_sleep_nodes{state=\"blocked\"} 2", "wattle_controller_sleep_nodes{state=\"draining\"} 0",
        "wattle_controller_sleep_cycles_total 0", "wattle_controller_sleep_waiting_pods 0"})
    CHECK(metrics.find(line) != std::string::npos);
}
