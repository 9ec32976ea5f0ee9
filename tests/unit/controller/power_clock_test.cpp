// power_clock_test: steps of the wall clock do not change limits, rests or measured times of a node's power.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "tests/unit/controller/cycle_rig.hpp"

using namespace wattle;
using namespace wattle::controller::power;
using namespace std::chrono_literals;
namespace core = wattle::placement::sleep;
using State = core::PowerState;

namespace {

// One event of the node, and the seconds until the next one.
struct Event {
  int kind = 0;
  int then_s = 0;
};

struct Trace {
  std::vector<std::string> seen;  // each second
  double wake_s = 0, sleep_s = 0, saved_j = 0;
  std::size_t sleeps = 0, moves = 0;
};

std::string shown(const CycleRig& rig) {
  const core::NodePowerRecord& record = rig.record();
  return std::string(to_string(record.state)) + " " + std::to_string(record.attempts) + " " +
         std::to_string(record.round_trips) + " " + std::to_string(rig.cycles->reserved().size()) + " " + record.reason;
}

// `steps`: of the wall clock, one before each event.
Trace play(const std::vector<Event>& events, const std::vector<Duration>& steps) {
  CycleRig rig;
  Trace trace;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i < steps.size()) rig.clock.step_wall(steps[i]);
    const bool first = i % 2 == 0;
    switch (events[i].kind) {
      case 0:
        rig.choose();
        break;
      case 1:
        rig.pods["n1"] = "shop/a";
        rig.choose("n1", {{"a", "shop/a", "shop/ReplicaSet/web", "n2", {1, 1e9}}});
        break;
      case 2:
        rig.cycles->bound("a" + std::to_string(i), "shop/x", "shop/ReplicaSet/web", first ? "n2" : "n3");
        rig.pods.clear();
        break;
      case 3:
        rig.cycles->wake("n1", "a pod waits", true);
        break;
      case 4:
        rig.machines->change("n1",
                             [](FakePower::Machine& machine) { machine.ignores_orders = !machine.ignores_orders; });
        break;
      default:
        if (!rig.silent.erase("n1")) rig.silent.insert("n1");
        break;
    }
    for (int s = 0; s < events[i].then_s; ++s) {
      rig.step();
      trace.seen.push_back(shown(rig));
    }
  }
  trace.wake_s = rig.record().measured.wake_s.value_or(0);
  trace.sleep_s = rig.record().measured.sleep_s.value_or(0);
  trace.saved_j = rig.cycles->records().totals().saved_j;
  trace.sleeps = rig.cycles->records().ledger().sleeps_within(rig.clock.wall(), 1h);
  trace.moves = rig.cycles->records().ledger().moves_within(rig.clock.wall(), 1h);
  return trace;
}

}  // namespace

TEST_CASE("a step of the wall clock affects neither a measured wake nor the time asleep") {
  for (const Duration step : {Duration(24h), Duration(-24h)}) {
    CycleRig rig;
    rig.choose();
    REQUIRE(rig.until(State::asleep));
    for (int i = 0; i < 600; ++i) rig.step();
    rig.clock.step_wall(step);
    rig.cycles->wake("n1", "a pod waits", true);
    rig.step();
    rig.clock.step_wall(-2 * step);
    REQUIRE(rig.until(State::awake));
    CHECK(*rig.record().measured.wake_s < 60);
    const SleepTotals& totals = rig.cycles->records().totals();
    CHECK(totals.saved_j + totals.transitions_j + totals.asleep_j < 95.0 * 2000);
    CHECK(totals.asleep_j > 0);
  }
}

TEST_CASE("times up to the step are moved, and later ones, from an earlier step back, stay") {
  const WallStep step{wall_from_ns(100), Duration(50)};
  CHECK(step.moved(wall_from_ns(100)) == wall_from_ns(150));
  CHECK(step.moved(wall_from_ns(101)) == wall_from_ns(101));
}

TEST_CASE("property: states, attempts and moves are the same with and without steps of the wall clock") {
  CHECK(rc::check([] {
    std::vector<Event> events(static_cast<std::size_t>(*rc::gen::inRange(1, 20)));
    std::vector<Duration> steps(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      events[i] = {*rc::gen::inRange(0, 6), *rc::gen::inRange(1, 800)};
      const Duration by = WallSteps::kStep + std::chrono::seconds(*rc::gen::inRange(0, 200'000));
      steps[i] = *rc::gen::arbitrary<bool>() ? by : -by;
    }
    const Trace plain = play(events, {}), stepped = play(events, steps);
    RC_ASSERT(plain.seen == stepped.seen);
    RC_ASSERT(std::abs(plain.wake_s - stepped.wake_s) < 1e-6);
    RC_ASSERT(std::abs(plain.sleep_s - stepped.sleep_s) < 1e-6);
    RC_ASSERT(std::abs(plain.saved_j - stepped.saved_j) < 1);
    RC_ASSERT(plain.sleeps == stepped.sleeps);
    RC_ASSERT(plain.moves == stepped.moves);
  }));
}
