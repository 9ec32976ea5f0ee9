// sleep_rig: a SleepControl over six nodes without pods.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "controller/power/sleep_control.hpp"
#include "tests/patience.hpp"
#include "tests/unit/controller/parts_rig.hpp"

namespace wattle::controller::test {

// Six nodes with the label, without pods, on a manual clock.
struct SleepRig : PartsRig {
  std::unique_ptr<power::SleepControl> control;
  std::shared_ptr<power::NodePower> drivers;  // unset: the configured ones
  std::function<bool()> pods_read;

  explicit SleepRig(placement::sleep::SleepMode mode = placement::sleep::SleepMode::recommend)
      : PartsRig(Mode::shadow) {
    config.sleep.mode = mode;
    for (int i = 1; i <= 6; ++i) greet("n" + std::to_string(i), {{"wattle.dev/sleep", "recommend"}});
    begin_control();
  }
  void begin_control(const std::string& own_host = "elsewhere") {
    control = std::make_unique<power::SleepControl>(power::SleepControl::Around{
        config.sleep, *store, rollout, clock, log, own_host, std::nullopt, 5, drivers, {}, pods_read});
  }
  Parts parts() { return PartsRig::parts(*control); }
  Result<SortedJson> get(const std::string& what) {
    auto body = finished(document(parts(), what, {}));
    if (!body) return forward_error(body);
    return SortedJson::parse(*body);
  }
  void greet(const std::string& name, std::map<std::string, std::string> labels) {
    wire::Hello hello = hello_of(name);
    hello.labels = std::move(labels);
    state.greet(hello);
  }
  // Makes the next plan.
  const placement::sleep::SleepPlan& plan() {
    report();
    const std::size_t before = control->plans();
    REQUIRE(tests::wait_until([&] {
      finish(control->tick(state));
      return control->plans() > before;
    }));
    return control->plan()->plan;
  }
  // Makes the next plan due, with current telemetry of all nodes.
  void report() {
    clock.advance(power::kPlanEvery);
    const auto second = static_cast<std::uint64_t>(clock.mono().time_since_epoch() / std::chrono::seconds(1));
    for (const auto& [name, node] : state.nodes())
      if (node.connected) state.apply(name, record_of(name, second), clock.mono());
  }
  placement::sleep::ExcludedFor cause(const std::string& node) {
    for (const placement::sleep::KeptAwake& each : plan().kept)
      if (each.node == node) return each.why.cause;
    return placement::sleep::ExcludedFor::none;
  }
  bool sleeps(const std::string& node) {
    for (const placement::sleep::SleepChoice& each : plan().sleeps)
      if (each.node == node) return true;
    return false;
  }
};

}  // namespace wattle::controller::test
