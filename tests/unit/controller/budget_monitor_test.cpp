// budget_monitor: half an hour of acting over a budget (waiting or lateness) stops the mode that acts. A canary over
// budget does not go live.
#include "controller/rollout/budget_monitor.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "common/json/value.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "tests/unit/common/temp_dir.hpp"

namespace wattle::controller {
namespace {

using namespace std::chrono_literals;

struct BudgetRig {
  ManualClock clock{mono_from_ns(1), wall_from_ns(1'800'000'000LL * 1'000'000'000)};
  Log log = Log::silent();
  wattle::test::TempDir folder;
  std::optional<RolloutManager> rollout;
  explicit BudgetRig(ModeSetting mode) { open(mode); }
  void open(ModeSetting mode) {
    RolloutSpec configured;
    configured.mode = mode;
    rollout.reset();
    auto opened = RolloutManager::open_(configured, folder.path() + "/control.db", {}, clock, log);
    REQUIRE(opened);
    rollout.emplace(std::move(*opened));
  }
  // Minutes until the mode is shadow, at most `most`.
  int pass(int minutes, std::optional<BudgetNow> waiting, std::optional<BudgetNow> late = {}) {
    ClusterNow now;
    now.nodes = now.watched = 2;
    now.requested_cores = 10;
    now.power_w = 100;
    for (int second = 0; second < 60 * minutes; second += 5) {
      clock.advance(5s);
      rollout->watch(now, {waiting, late});
      if (rollout->spec().mode.mode == Mode::shadow) return second / 60 + 1;
    }
    return minutes;
  }
};

TEST_CASE("pods that wait over the budget for half an hour end the acting mode, and the audit has their waiting time") {
  BudgetRig rig(Mode::live);
  CHECK(rig.pass(120, BudgetNow{0.014, 0.014, 0.01}) == 120);  // over the budget, but by less than half
  CHECK(rig.pass(120, std::nullopt) == 120);
  const int minutes = rig.pass(120, BudgetNow{0.031, 0.02, 0.015});
  CHECK(minutes >= 30);
  CHECK(minutes <= 31);
  const wattle::SortedJson newest = rig.rollout->document()["changes"][0];
  CHECK(newest["who"] == "guard");
  CHECK(newest["why"] == "pods waited for CPU 3.1% of their time (limit 1.5%)");
}

TEST_CASE("time within the budget is subtracted; a restart or a gap of hours adds at most its real time") {
  BudgetRig rig(Mode::live);
  const BudgetNow over{0.05, 0.05, 0.01}, within{0.001, 0.001, 0.01};
  rig.pass(20, over);
  rig.pass(15, within);
  CHECK(rig.pass(24, over) == 24);
  CHECK(rig.rollout->keep({}));
  rig.open(Mode::live);
  rig.clock.advance(5h);
  rig.rollout->watch({}, {over, over});  // an hour without reports does not count as waiting
  CHECK(rig.rollout->spec().mode.mode == Mode::live);
  CHECK(rig.pass(60, over) <= 2);
}

TEST_CASE("pods that are late over the budget for half an hour end the acting mode; each budget counts separately") {
  BudgetRig rig(Mode::live);
  const BudgetNow within{0.001, 0.001, 0.01}, over{0.04, 0.03, 0.02};
  rig.pass(20, BudgetNow{0.05, 0.05, 0.01}, within);  // twenty minutes over one budget count for that budget only
  CHECK(rig.pass(29, within, over) == 29);
  CHECK(rig.pass(60, within, within) == 60);
  CHECK(rig.pass(20, std::nullopt, over) == 20);
  CHECK(rig.rollout->keep({}));
  rig.open(Mode::live);
  rig.clock.advance(5h);
  BudgetNow silent = over;
  silent.reported = false;
  CHECK(rig.pass(120, std::nullopt, silent) == 120);  // an old report is not evidence
  const int minutes = rig.pass(60, within, over);
  CHECK(minutes >= 9);
  CHECK(minutes <= 12);
  const wattle::SortedJson newest = rig.rollout->document()["changes"][0];
  CHECK(newest["who"] == "guard");
  CHECK(newest["why"] == "pods exceeded their soft latency limit 4% of their time (limit 2%)");
}

TEST_CASE("a value that is not a number raises no alarm") {
  BudgetMonitor monitor;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE_FALSE(monitor.acting({nan, nan, 0.01}, 60));
    REQUIRE_FALSE(monitor.acting({1, 1, nan}, 60));
    REQUIRE_FALSE(monitor.acting({1, 1, 0.01}, nan));
    REQUIRE_FALSE(monitor.acting({1, 1, 0.01}, -5));
  }
  for (const double wrong : {nan, -1.0, 1800.0}) CHECK_FALSE(monitor.restore(wrong));
}

TEST_CASE("a budget is enforced only once its limit has been learned or configured") {
  placement::Budget budget;
  CHECK_FALSE(budget_now(budget));
  budget.measure(0.03, 1, 30, true, 5);
  CHECK_FALSE(budget_now(budget));
  budget.set_limit(0.02);
  REQUIRE(budget_now(budget));
  CHECK(budget_now(budget)->limit == 0.02);
  CHECK(budget_now(budget)->recent == doctest::Approx(0.03));
  budget.set_limit(std::nullopt);
  for (int i = 0; i < 30; ++i) budget.measure(0.04, 1, 30, false, 5);
  REQUIRE(budget_now(budget));
  CHECK(budget_now(budget)->limit == doctest::Approx(0.045));
}

TEST_CASE("a canary whose pods waited or were late over the limit does not go live, whatever it saved") {
  GateEvidence evidence;
  evidence.effect.treated = evidence.effect.control = 4;
  evidence.effect.low = 0.05;
  CHECK(gate_from(Mode::canary, evidence).closed.empty());
  evidence.budgets.waiting = BudgetNow{0, 0.012, 0.015};
  CHECK(gate_from(Mode::canary, evidence).closed.empty());
  evidence.budgets.waiting->measured = 0.02;
  CHECK(gate_from(Mode::canary, evidence).closed == "pods waited for CPU 2% of their time (limit 1.5%)");
  evidence.budgets.waiting->measured = 0.015;
  evidence.budgets.late = BudgetNow{0, 0.031, 0.02};
  CHECK(gate_from(Mode::canary, evidence).closed ==
        "pods exceeded their soft latency limit 3.1% of their time (limit 2%)");
  evidence.decisions = kLeastDecisions;
  CHECK(gate_from(Mode::shadow, evidence).closed.empty());  // waiting under the previous mode does not count
}

}  // namespace
}  // namespace wattle::controller
