// sleep_drivers: the plan uses the answers of the power drivers, and no driver blocks the loop.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/fake_power.hpp"
#include "tests/unit/controller/sleep_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using power::FakePower;
using json = wattle::SortedJson;
namespace core = wattle::placement::sleep;

namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Drivers for n1 to n5, and none for n6.
struct DriverRig : SleepRig {
  std::shared_ptr<FakePower> machines = std::make_shared<FakePower>();

  explicit DriverRig(core::SleepMode mode = core::SleepMode::recommend) : SleepRig(mode) {
    power::PowerConfig file;
    for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) {
      machines->add(name);
      power::NodeDrivers item;
      item.node = name;
      item.sleep = item.observe = power::DriverKind::exec;
      item.wake = power::DriverKind::wol;
      file.nodes.push_back(item);
    }
    machines->add("n6");
    config.sleep.drivers_file = "drivers.yaml";
    config.sleep.drivers = std::make_shared<const power::PowerConfig>(std::move(file));
    drivers = machines;
    begin_control();
  }
  ~DriverRig() { machines->hold_probes(false); }
  // Returns the node's entry in either list of the document.
  json entry(const std::string& name) {
    const json document = get("sleep").value();
    for (const char* list : {"sleep", "awake"})
      for (const json& node : document[list])
        if (node["name"] == name) return node;
    return {};
  }
};

}  // namespace

TEST_CASE_FIXTURE(DriverRig, "sleep: depth, wake time and power asleep are those that the driver reports") {
  machines->change("n1", [](FakePower::Machine& machine) {
    machine.able.depths = {power::Depth::suspend, power::Depth::off};
    machine.able.wake_s = 7;
    machine.able.asleep_w = 3;
  });
  plan();
  const json light = entry("n1"), deep = entry("n2");
  CHECK(light["driver"] == "exec, wol");
  CHECK(light["probed"] == true);
  CHECK(light["depth"] == "suspend");
  CHECK(light["wake_s"] == 7);
  CHECK(light["asleep_w"] == 3);
  CHECK(deep["depth"] == "off");
  CHECK(get("sleep").value()["drivers"] == "drivers.yaml");
  // A boot costs more than a wake from memory.
  CHECK_FALSE(control->plan()->plan.sleeps.empty());
  for (const core::SleepChoice& choice : control->plan()->plan.sleeps)
    if (choice.node != "n1") CHECK(choice.break_even_s > 152);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: less power asleep, as reported by the driver, saves more") {
  const double before_w = plan().watts_after;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5"})
    machines->change(name, [](FakePower::Machine& machine) { machine.able.asleep_w = 1; });
  clock.advance(power::kProbeEvery);
  CHECK(plan().watts_after < before_w);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: a node whose driver fails stays awake, and the reason has the driver's error") {
  machines->fail_next("n1", {Errc::denied, "https://bmc-1", "wrong password", "check the credentials"});
  CHECK(cause("n1") == core::ExcludedFor::no_driver);
  const auto why = entry("n1")["why"].get<std::string>();
  CHECK(why.find("denied: https://bmc-1: wrong password (check the credentials)") != std::string::npos);
  CHECK(entry("n1")["probed"] == false);
  clock.advance(power::kProbeEvery);
  CHECK(cause("n1") != core::ExcludedFor::no_driver);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: a node without a driver stays awake and is not probed") {
  CHECK(cause("n6") == core::ExcludedFor::no_driver);
  CHECK(machines->machine("n6").probes == 0);
  CHECK(entry("n6")["driver"].is_null());
}

TEST_CASE_FIXTURE(DriverRig, "sleep: a node that its drivers cannot wake, or cannot put to sleep, stays awake") {
  machines->change("n1", [](FakePower::Machine& machine) { machine.able.can_wake = false; });
  machines->change("n2", [](FakePower::Machine& machine) { machine.able.depths.clear(); });
  CHECK(cause("n1") == core::ExcludedFor::no_wake);
  CHECK(cause("n2") == core::ExcludedFor::no_driver);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: a node is probed once in kProbeEvery, and not without the label") {
  greet("n5", {});
  plan();
  plan();
  CHECK(machines->machine("n1").probes == 1);
  CHECK(machines->machine("n5").probes == 0);
  clock.advance(power::kProbeEvery);
  plan();
  CHECK(machines->machine("n1").probes == 2);
}

TEST_CASE("sleep: no driver is asked with mode off") {
  DriverRig rig(core::SleepMode::off);
  rig.report();
  finish(rig.control->tick(rig.state));
  for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) CHECK(rig.machines->machine(name).probes == 0);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: the loop continues while a driver does not answer") {
  machines->hold_probes(true);
  report();
  REQUIRE(tests::wait_until([&] {
    finish(control->tick(state));
    return machines->machine("n1").probes == 1;
  }));
  // A tick returns and the document exists, although the driver has not answered.
  report();
  finish(control->tick(state));
  CHECK(control->plans() == 0);
  CHECK(get("sleep").value()["age_s"].is_null());
  CHECK(machines->machine("n1").probes == 1);
  machines->hold_probes(false);
  plan();
  CHECK(entry("n1")["probed"] == true);
}

TEST_CASE_FIXTURE(DriverRig, "sleep: the document says whether a silent node is on") {
  plan();
  CHECK(entry("n1")["observed"].is_null());
  state.disconnect("n1");
  state.disconnect("n2");
  state.disconnect("n3");
  machines->change("n1", [](FakePower::Machine& machine) { machine.state = power::PowerState::off; });
  machines->fail_next("n2", {Errc::timeout, "n2", "no answer", ""});
  plan();
  CHECK(entry("n1")["observed"] == "off");
  CHECK(entry("n1")["cause"] == "not_ready");
  CHECK(entry("n2")["observed"] == "unknown");
  CHECK(entry("n3")["observed"] == "on");
  CHECK(entry("n4")["observed"].is_null());
}

TEST_CASE("sleep: a round ends at its maximum number of calls, and the next round asks the other nodes") {
  auto drivers = std::make_shared<FakePower>();
  ManualClock clock;
  power::NodeDrivers item;
  item.sleep = item.wake = power::DriverKind::exec;
  auto file = std::make_shared<power::PowerConfig>();
  file->nodes.push_back(item);
  std::vector<power::ToProbe> nodes;
  for (std::size_t i = 0; i < power::kMostCalls + 5; ++i) {
    drivers->add("n" + std::to_string(i));
    nodes.push_back({{"n" + std::to_string(i)}});
  }
  power::NodeProbes probes(file, drivers, clock);
  const auto asked = [&] {
    std::size_t count = 0;
    for (const auto& [name, node] : probes.ask(nodes)) count += node.able ? 1 : 0;
    return count;
  };
  CHECK(asked() == power::kMostCalls);
  CHECK(asked() == nodes.size());
  CHECK(probes.ask(nodes).size() == nodes.size());
}

TEST_CASE("sleep: errors in the drivers' file are errors of the configuration, with file and line") {
  wattle::test::TempDir dir;
  write(dir.file("drivers.yaml"), "nodes:\n  - node: n1\n    wol: {mac: 52:54:00:12:34:56}\n    colour: red\n");
  const std::string path = dir.file("drivers.yaml"), keys = "key: k\nallow_list: a\n";
  const auto broken = parse_config(keys + "sleep:\n  drivers: " + path + "\n", "controller.yaml");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message().find("controller.yaml:4") != std::string::npos);
  CHECK(broken.error().message().find(path + ":4") != std::string::npos);
  CHECK(broken.error().message().find("colour") != std::string::npos);
  const auto none = parse_config(keys + "sleep: {drivers: " + dir.file("none.yaml") + "}\n", "controller.yaml");
  REQUIRE_FALSE(none);
  CHECK(none.error().message().find("none.yaml") != std::string::npos);
  write(dir.file("drivers.yaml"), "nodes:\n  - node: n1\n    exec: {command: [/bin/true]}\n");
  const auto good = parse_config(keys + "sleep: {drivers: " + path + "}\n", "controller.yaml");
  REQUIRE(good);
  CHECK(power::driver_names(*good->sleep.drivers, {"n1"}) == "exec");
  CHECK(power::driver_names(*good->sleep.drivers, {"n2"}).empty());
}
