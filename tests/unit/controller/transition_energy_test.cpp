// transition_energy: energy of transitions and of round trips, over whole cycles on a manual clock.
#include "controller/power/transition_energy.hpp"

#include <rapidcheck.h>

#include <cmath>

#include "placement/sleep/transition_cost.hpp"
#include "tests/unit/controller/cycle_rig.hpp"

using namespace wattle;
using namespace wattle::controller::power;
namespace core = wattle::placement::sleep;
using State = core::PowerState;

namespace {

constexpr double kIdle_w = 95;  // of the rig

// Runs one sleep and one wake. Returns the time from the sleep order until the node was ready.
double round_trip(CycleRig& rig, Duration asleep) {
  rig.choose();
  rig.until(State::suspending);
  const WallTime ordered = rig.clock.wall();
  rig.until(State::asleep);
  rig.step(asleep);
  rig.cycles->wake("n1", "a test", false);
  rig.until(State::awake);
  const double took_s = seconds(rig.clock.wall() - ordered);
  for (int i = 0; i < 20; ++i) rig.step();
  return took_s;
}

core::TransitionCost cost_now(const CycleRig& rig) { return core::cost_of(rig.record(), core::Depth::off, kIdle_w); }

}  // namespace

TEST_CASE("cycles: the energy of transitions is the published one until three were metered on the node") {
  CycleRig rig;
  rig.metered_w = 120;
  const core::TransitionCost published = core::usual_cost(core::Depth::off, kIdle_w);
  for (int trip = 1; trip <= 2; ++trip) {
    round_trip(rig, std::chrono::minutes(10));
    CHECK(rig.record().sleeps.count == trip);
    CHECK(rig.record().wakes.count == trip);
    CHECK_FALSE(core::joules_measured(rig.record()));
    CHECK(cost_now(rig).wake_j == published.wake_j);
    CHECK(cost_now(rig).sleep_j == published.sleep_j);
  }
  round_trip(rig, std::chrono::minutes(10));
  CHECK(core::joules_measured(rig.record()));
  const core::TransitionCost cost = cost_now(rig);
  CHECK(cost.sleep_j == doctest::Approx(120 * cost.sleep_s));
  CHECK(cost.wake_j == doctest::Approx(120 * cost.wake_s));
  CHECK(core::break_even_s(cost, kIdle_w) < core::break_even_s(published, kIdle_w));
}

TEST_CASE("cycles: a restart keeps what was metered, and the current wake is metered after it") {
  CycleRig rig;
  round_trip(rig, std::chrono::minutes(10));
  CHECK(rig.record().sleeps.count == 0);
  CHECK(rig.record().wakes.count == 0);
  rig.metered_w = 120;
  for (int i = 0; i < 10; ++i) rig.step();
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.silent.insert("n1");  // boots
  rig.cycles->wake("n1", "a test", false);
  const WallTime ordered = rig.clock.wall();
  rig.step();
  rig.restart();
  rig.silent.clear();
  REQUIRE(rig.until(State::awake));
  CHECK(rig.record().round_trips == 2);
  CHECK(rig.record().sleeps.count == 1);
  REQUIRE(rig.record().wakes.count == 1);
  CHECK(*rig.record().wakes.mean_j == doctest::Approx(120 * seconds(rig.clock.wall() - ordered)));
  for (int i = 0; i < 20; ++i) rig.step();
  for (int trip = 1; trip <= 2; ++trip) round_trip(rig, std::chrono::minutes(10));
  REQUIRE(core::joules_measured(rig.record()));
  rig.restart();
  for (int i = 0; i < 20; ++i) rig.step();
  CHECK(core::joules_measured(rig.record()));
}

TEST_CASE("cycles: energy is conserved: saved, asleep and transitions add up to an idle node, whatever was metered") {
  CHECK(rc::check([] {
    CycleRig rig;
    double always_on_j = 0;
    for (int trip = *rc::gen::inRange(1, 6); trip > 0; --trip) {
      rig.metered_w = *rc::gen::element(std::optional<double>(), std::optional<double>(*rc::gen::inRange(1, 400)));
      always_on_j += kIdle_w * round_trip(rig, std::chrono::seconds(*rc::gen::inRange(1, 100'000)));
    }
    const SleepTotals& totals = rig.cycles->records().totals();
    RC_ASSERT(totals.transitions_j > 0);
    RC_ASSERT(std::abs(totals.saved_j + totals.asleep_j + totals.transitions_j - always_on_j) < 1e-6 * always_on_j);
    SleepTotals read;
    placement::PackWriter out;
    totals.pack(out);
    const std::string bytes = out.take();
    placement::PackReader in(bytes);
    read.unpack(in);
    RC_ASSERT(in.done());
    RC_ASSERT(read == totals);
  }));
}
