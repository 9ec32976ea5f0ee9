// power_faults: ten thousand sleeps through power_cycles with faults: lost and refused goodbyes, drivers that fail, do
// nothing or do not answer, machines that wake or die by themselves, an API server that is down, a full disk, and a
// controller that dies before and after a record is on disk.
#include <doctest/doctest.h>

#include "common/stats/draws.hpp"
#include "tests/unit/controller/cycle_rig.hpp"

using namespace wattle;
using namespace wattle::controller::power;
namespace core = wattle::placement::sleep;
using State = core::PowerState;

namespace {

constexpr std::size_t kNodes = 6;
#ifdef WATTLE_SANITIZED
constexpr std::uint64_t kSleeps = 1000;
#else
constexpr std::uint64_t kSleeps = 5000;
#endif

struct FaultyRun {
  CycleRig rig;
  stats::Random random;
  std::map<std::string, std::uint64_t> faults;
  std::vector<std::string> breaches;
  std::uint64_t sleeps = 0;

  FaultyRun(bool api, bool observable, std::uint64_t seed) : rig(api, kNodes), random(seed) {
    rig.observable = observable;
    rig.around.limits.failed = std::chrono::minutes(5);
    rig.around.limits.blocked = std::chrono::minutes(10);
  }
  bool happens(double chance, const char* fault) {
    if (!(stats::uniform(random) < chance)) return false;
    ++faults[fault];
    return true;
  }
  void toggle(std::set<std::string>& set, const std::string& node, double chance, const char* fault) {
    if (set.erase(node) == 0 && happens(chance, fault)) set.insert(node);
  }
  void inject() {
    for (const std::string& node : rig.names) {
      toggle(rig.mute_agents, node, 0.02, "no goodbye");
      toggle(rig.reluctant, node, 0.02, "refused");
      if (happens(0.02, "driver fails")) rig.machines->fail_next(node, {Errc::timeout, node, "no answer", ""});
      const bool ignores_orders = happens(0.02, "driver does nothing"), unobservable = happens(0.02, "not observed");
      const bool spurious = rig.record(node).state == State::asleep && happens(0.002, "spurious wake");
      const bool dies = happens(0.0005, "dies");
      rig.machines->change(node, [&](FakePower::Machine& machine) {
        machine.ignores_orders = ignores_orders;
        machine.unobservable = unobservable;
        if (spurious || (!dies && machine.state == PowerState::off && rig.record(node).state == State::failed))
          machine.state = PowerState::on;  // by itself, or by an operator
        if (dies) machine.state = PowerState::off;
      });
    }
    if (rig.marks) rig.marks->down = happens(0.03, "API server down");
    rig.disk.full = happens(0.03, "disk full");
    rig.disk.slow = happens(0.05, "disk slow");
    if (!rig.disk.waiting.empty() && happens(0.5, "stored before the crash")) rig.disk.finish();
    if (happens(0.01, "restart")) rig.restart();
  }
  void calm() {
    rig.mute_agents.clear();
    rig.reluctant.clear();
    rig.disk.finish();
    rig.disk.full = rig.disk.slow = false;
    if (rig.marks) rig.marks->down = false;
    for (const std::string& node : rig.names)
      rig.machines->change(node, [](FakePower::Machine& machine) {
        machine.failures.clear();
        machine.ignores_orders = machine.unobservable = false;
      });
  }
  void check() {
    for (const std::string& node : rig.names) {
      const core::NodePowerRecord& record = rig.record(node);
      const auto breach = [&](const char* what) {
        breaches.push_back(node + " " + std::string(to_string(record.state)) + ": " + what);
      };
      if (record.state == State::asleep && rig.marks && !rig.is_marked(node)) breach("asleep without marks");
      if (!rig.runs(node) && takes_pods(record) && rig.clock.mono() - rig.sampled[node] > std::chrono::minutes(3))
        breach("off, and said to take pods");
      const auto due = deadline_of(record, rig.around.limits);
      if (due && rig.clock.wall() > *due + std::chrono::minutes(5)) breach("stuck after its limit");
    }
  }
  void run() {
    std::map<std::string, State> before;
    for (int ticks = 0; sleeps < kSleeps && breaches.empty() && ticks < 2'000'000; ++ticks) {
      inject();
      for (const std::string& node : rig.names) {
        if (stats::uniform(random) < 0.1) rig.choose(node);
        if (stats::uniform(random) < 0.05) rig.cycles->wake(node, "wanted", true);
      }
      rig.step(std::chrono::seconds(1 + stats::pick(random, 20)));
      for (const std::string& node : rig.names) {
        const State now = rig.record(node).state;
        if (now == State::asleep && before[node] != State::asleep) ++sleeps;
        before[node] = now;
      }
      check();
    }
  }
};

void check_laws(bool api, bool observable, std::uint64_t seed) {
  FaultyRun run(api, observable, seed);
  run.run();
  for (const std::string& breach : run.breaches) FAIL_CHECK(breach);
  CHECK(run.sleeps >= kSleeps);
  CHECK(run.faults.size() >= 11);
  // Without further faults every node returns, without marks.
  run.calm();
  for (int i = 0; i < 600; ++i) {
    for (const std::string& node : run.rig.names) run.rig.cycles->wake(node, "the end", false);
    run.rig.step(std::chrono::seconds(10));
  }
  for (const std::string& node : run.rig.names) {
    CHECK(takes_pods(run.rig.record(node)));
    CHECK(run.rig.runs(node));
    CHECK_FALSE(run.rig.is_marked(node));
  }
  CHECK(run.rig.cycles->records().history().size() <= kMostTransitions);
  MESSAGE(run.sleeps << " sleeps, " << run.faults.at("restart") << " restarts");
}

}  // namespace

TEST_CASE("cycles with faults: no node is stuck, none sleeps without marks, and all return: observable nodes") {
  check_laws(true, true, 1);
}

TEST_CASE("cycles with faults: no node is stuck, and all return: presumed sleeps without an API server") {
  check_laws(false, false, 2);
}
