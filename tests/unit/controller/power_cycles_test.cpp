// power_cycles: a node's way to sleep and back, with every fault, and a restart at each step.
#include "controller/power/power_cycles.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tests/patience.hpp"
#include "tests/unit/controller/cycle_rig.hpp"

using namespace wattle;
using namespace wattle::controller::power;
namespace core = wattle::placement::sleep;
using State = core::PowerState;

namespace {

core::Move move_of(const std::string& uid, const std::string& owner, const std::string& target) {
  return {uid, "shop/" + uid, owner, target, {1, 0}};
}

// A pod of n1 that leaves: the Eviction API has evicted it, or it was deleted.
kube::Pod leaving_pod(const std::string& uid, const std::string& owner, bool evicted) {
  kube::Pod pod;
  pod.uid = pod.name = uid;
  pod.pod_namespace = "shop";
  pod.replica_of = owner;
  pod.node_name = "n1";
  pod.leaving = true;
  pod.evicted = evicted;
  return pod;
}

std::vector<State> states_of(const CycleRig& rig) {
  std::vector<State> states;
  for (const SleepTransition& each : rig.disk.transitions)
    if (states.empty() || states.back() != each.to) states.push_back(each.to);
  return states;
}

const std::vector<State> kRoundTrip{State::idle,   State::suspending, State::asleep,
                                    State::waking, State::probation,  State::awake};

// Wakes the node and waits for its return.
void comes_back(CycleRig& rig) {
  for (int i = 0; i < 8 && rig.record().state != State::awake; ++i) {
    rig.cycles->wake("n1", "the end of the case", false);
    rig.until(State::awake, "n1", 1200);
  }
  rig.step();
  rig.step(kCallAgain);
  CHECK(rig.record().state == State::awake);
  CHECK_FALSE(rig.record().marked);
  CHECK_FALSE(rig.is_marked());
  CHECK(rig.runs("n1"));
}

}  // namespace

TEST_CASE("cycles: a node sleeps and wakes, is marked meanwhile, and the totals count it") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  CHECK(rig.is_marked());
  CHECK_FALSE(rig.runs("n1"));
  CHECK(rig.record().measured.sleep_s.has_value());
  REQUIRE(rig.orders.size() == 1);  // the node was off before a grant could reach its agent
  CHECK_FALSE(rig.orders[0].second.granted);
  CHECK(rig.orders[0].second.depth == "off");
  CHECK(rig.orders[0].second.wake_after_s == 72 * 3600);
  rig.step(std::chrono::hours(2));
  CHECK(rig.record().state == State::asleep);
  CHECK(rig.record().measured.asleep_w == 9.75);
  CHECK(rig.cycles->wake("n1", "pod shop/a fits on no awake node", true));
  REQUIRE(rig.until(State::awake));
  comes_back(rig);
  CHECK(states_of(rig) == kRoundTrip);
  CHECK(rig.record().round_trips == 1);
  CHECK(rig.cycles->records().totals().cycles == 1);
  CHECK(rig.cycles->records().totals().tests == 0);
  CHECK(rig.cycles->records().totals().failures.empty());
  // Two hours at 95 W, less the power asleep and the published transitions.
  CHECK(rig.cycles->records().totals().saved_j > 0.8 * 7200 * (95 - 9.75) - 19'650);
  CHECK(rig.cycles->records().ledger().wakes_within(rig.clock.wall(), std::chrono::hours(1)) == 1);
  CHECK(rig.marks->events.front() == "n1 WattleAsleep");
  CHECK(rig.marks->events.back() == "n1 WattleAwake");
}

TEST_CASE("cycles: packed totals are restored unchanged, and truncated ones are refused") {
  const SleepTotals totals{1e6, 2e4, 3e3, 7, {{"no_wake", 2}}, 3, 6e4, 5, 61.5};
  placement::PackWriter out;
  totals.pack(out);
  const std::string bytes = out.take();
  for (const std::size_t less : {0U, 8U, 16U, 24U, 32U, 40U}) {
    SleepTotals read;
    placement::PackReader in(std::string_view(bytes).substr(0, bytes.size() - less));
    read.unpack(in);
    CHECK((in.ok() && in.done()) == (less == 0));
    CHECK(read == (less == 0 ? totals : SleepTotals{}));
  }
}

TEST_CASE("cycles: a wake order without effect is repeated with its number, even if no driver observes the node") {
  for (const bool observable : {true, false}) {
    CAPTURE(observable);
    CycleRig rig;
    rig.observable = observable;
    rig.choose();
    REQUIRE(rig.until(State::asleep));
    rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });
    rig.cycles->wake("n1", "a pod", false);
    for (int i = 0; i < 20; ++i) rig.step();
    rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = false; });
    rig.machines->fail_next("n1", {Errc::timeout, "bmc-1", "no answer in 20 s", "check the network"});
    const WallTime asked = rig.clock.wall();
    REQUIRE(rig.until(State::awake));
    CHECK(rig.clock.wall() - asked < std::chrono::minutes(1));
    CHECK(rig.record().operation == 2);
  }
}

TEST_CASE("cycles: a sleep order without effect is repeated with its number, also after a failed call") {
  CycleRig rig;
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  while (!rig.record().goodbye) rig.step();
  const WallTime asked = rig.clock.wall();
  for (int i = 0; i < 20; ++i) rig.step();
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = false; });
  while (rig.clock.wall() - asked < kOrderAgain) rig.step();
  CHECK(rig.runs("n1"));
  rig.machines->fail_next("n1", {Errc::timeout, "bmc-1", "no answer in 20 s", "check the network"});
  REQUIRE(rig.until(State::asleep));
  CHECK(rig.clock.wall() - asked < std::chrono::minutes(1));
  CHECK(rig.machines->machine("n1").slept == std::vector<std::uint64_t>{1});
  CHECK(rig.record().failures == 0);
  comes_back(rig);
}

TEST_CASE("cycles: a lost grant is repeated to the agent that puts its node to sleep") {
  CycleRig rig;
  rig.by_agent = true;
  rig.choose();
  std::vector<MonoTime> grants;
  rig.cycles->on_send([&](const std::string& node, const wire::SleepOrder& order) -> Status {
    if (order.granted) grants.push_back(rig.clock.mono());
    if (!order.granted) rig.promised[node] = order.operation;
    return {};
  });
  for (int i = 0; i < 60; ++i) rig.step();
  REQUIRE(grants.size() == 2);
  CHECK(grants[1] - grants[0] >= kOrderAgain);
}

TEST_CASE("cycles: a sleep order is not repeated once a wake is wanted, so that a new pod is not killed") {
  CycleRig rig;
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  while (!rig.record().goodbye) rig.step();
  rig.step();
  rig.pods["n1"] = "shop/late";
  rig.step();
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = false; });
  REQUIRE(rig.until(State::awake));
  CHECK(rig.machines->machine("n1").slept.empty());
}

TEST_CASE("cycles: a test ends with a wake, also after a restart, and the next sleep is not a test") {
  CycleRig rig;
  REQUIRE(rig.cycles->test("n1", Depth::off, true, "operator/ann"));
  REQUIRE(rig.until(State::asleep));
  rig.restart();
  REQUIRE(rig.until(State::awake, "n1", 60));
  CHECK(rig.record().round_trips == 1);
  const SleepTotals& totals = rig.cycles->records().totals();
  CHECK(totals.cycles == 1);
  CHECK(totals.tests == 1);
  CHECK(totals.tests_j > 0);
  CHECK(totals.tests_j == -totals.saved_j);
  for (int i = 0; i < 20; ++i) rig.step();
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  CHECK_FALSE(rig.until(State::awake, "n1", 60));
}

TEST_CASE("cycles: a test ends in a round trip after a restart at any step") {
  int trips = 0;
  for (int at = 0; at < 40; ++at) {
    CAPTURE(at);
    CycleRig rig;
    REQUIRE(rig.cycles->test("n1", Depth::off, true, "operator/ann"));
    for (int i = 0; i < 120; ++i) {
      if (i == at) rig.restart();
      rig.step();
    }
    CHECK(rig.record().state == State::awake);
    CHECK_FALSE(rig.is_marked());
    // After the goodbye, a controller that did not see the node go off does not put the running node to sleep.
    CHECK(rig.record().round_trips + rig.failures("no_effect") + rig.failures("no_goodbye") + rig.failures("unknown") <=
          1);
    trips += static_cast<int>(rig.record().round_trips);
  }
  CHECK(trips > 30);
}

TEST_CASE("cycles: no node goes to sleep before its pods are known") {
  CycleRig rig;
  rig.pods_read = false;
  rig.step();
  rig.choose();
  CHECK(rig.record().state == State::awake);
  rig.pods_read = true;
  rig.step();
  rig.choose();
  REQUIRE(rig.until(State::idle));
  rig.pods_read = false;
  for (int i = 0; i < 60; ++i) rig.step();
  CHECK(rig.record().state == State::idle);
  rig.pods_read = true;
  CHECK(rig.until(State::asleep));
}

TEST_CASE("cycles: a node that woke from a test is still marked as tested, unless the plan requested the sleep") {
  CycleRig rig;
  for (const bool needed : {false, true}) {
    REQUIRE(rig.cycles->test("n1", Depth::off, true, "operator/ann"));
    REQUIRE(rig.until(State::asleep));
    if (needed) CHECK(rig.cycles->wake("n1", "pods wait", true));
    REQUIRE(rig.until(State::awake, "n1", 60));
    CHECK(rig.record().test == !needed);
    for (int i = 0; i < 20; ++i) rig.step();
  }
  rig.choose();
  CHECK_FALSE(rig.record().test);
}

TEST_CASE("cycles: without an API server a node sleeps and wakes without marks") {
  CycleRig rig(false);
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  CHECK_FALSE(rig.runs("n1"));
  comes_back(rig);
  CHECK(states_of(rig) == kRoundTrip);
}

TEST_CASE("cycles: without a way to observe the node, its goodbye counts and the sleep is presumed") {
  CycleRig rig;
  rig.observable = false;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  CHECK(rig.record().presumed);
  rig.step();
  CHECK_FALSE(rig.runs("n1"));
  comes_back(rig);
}

TEST_CASE("cycles: each record is on disk before its action") {
  CycleRig rig;
  rig.disk.slow = true;
  rig.choose();
  for (int i = 0; i < 30; ++i) rig.step();
  CHECK(rig.record().state == State::idle);
  CHECK_FALSE(rig.is_marked());
  rig.disk.finish();
  rig.step();
  CHECK(rig.is_marked());
  rig.disk.slow = false;
  rig.mute_agents.insert("n1");
  while (rig.orders.empty()) rig.step();
  rig.mute_agents.clear();
  rig.disk.slow = true;
  for (int i = 0; i < 30; ++i) rig.step();
  CHECK(rig.record().goodbye);
  CHECK(rig.runs("n1"));  // its goodbye is not stored
  rig.disk.finish();
  rig.step();
  CHECK_FALSE(rig.runs("n1"));
}

TEST_CASE("cycles: a full disk keeps a node awake, and a sleeping node still wakes") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.disk.full = true;
  comes_back(rig);
  rig.step(std::chrono::minutes(10));
  rig.choose();
  for (int i = 0; i < 60; ++i) rig.step();
  CHECK_FALSE(rig.is_marked());
  CHECK(rig.runs("n1"));
  rig.disk.full = false;
  CHECK(rig.until(State::asleep));
}

TEST_CASE("cycles: a restart at any step of a round trip leads to the same end") {
  for (const bool api : {true, false})
    for (int at = 0; at < 40; ++at) {
      CAPTURE(at);
      CycleRig rig(api);
      rig.choose();
      for (int i = 0; i < 40; ++i) {
        if (i == at) rig.restart();
        if (i == 20) rig.cycles->wake("n1", "half time", false);
        rig.step();
        if (rig.record().state == State::asleep) CHECK_FALSE(rig.runs("n1"));
      }
      comes_back(rig);
    }
}

TEST_CASE("cycles: a controller that dies between a stored record and its action loses nothing") {
  for (int writes = 1; writes < 16; ++writes) {
    CAPTURE(writes);
    int left = writes;
    CycleRig rig;
    rig.disk.slow = true;
    rig.choose();
    for (int i = 0; i < 60; ++i) {
      if (!rig.disk.waiting.empty() && --left == 0) break;
      rig.disk.finish();
      if (i == 30) rig.cycles->wake("n1", "half time", false);
      rig.step();
    }
    for (auto& [rows, answer] : rig.disk.waiting) rig.disk.apply(rows);
    rig.disk.slow = false;
    rig.restart();
    rig.step();
    comes_back(rig);
  }
}

TEST_CASE("cycles: a lost goodbye is a failed sleep, and the node takes pods again") {
  CycleRig rig;
  rig.mute_agents.insert("n1");
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  REQUIRE(rig.until(State::awake));
  CHECK(rig.failures("no_goodbye") == 1);
  CHECK(rig.machines->machine("n1").slept.empty());
  CHECK(rig.orders.size() > 10);  // repeated again and again
  comes_back(rig);
}

TEST_CASE("cycles: a refused goodbye keeps the node awake, with the agent's reason") {
  CycleRig rig;
  rig.reluctant.insert("n1");
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  rig.until(State::probation);
  CHECK(rig.record().reason.find("an update is running") != std::string::npos);
  CHECK(rig.failures("refused") == 1);
  comes_back(rig);
  CHECK(rig.machines->machine("n1").slept.empty());
}

TEST_CASE("cycles: a driver timeout is a failed sleep, and the reason has the driver's error") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  rig.machines->fail_next("n1", {Errc::timeout, "bmc-1", "no answer in 20 s", "check the network"});
  rig.until(State::probation);
  CHECK(rig.record().reason.find("bmc-1: no answer in 20 s (check the network)") != std::string::npos);
  CHECK(rig.failures("went_on") == 1);
  comes_back(rig);
}

TEST_CASE(
    "cycles: the agent gets its grant after the driver has accepted the order, and resumes if the driver refuses") {
  for (const bool refuses : {false, true}) {
    CAPTURE(refuses);
    CycleRig rig;
    rig.machines->change(
        "n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });  // it stays on for a while
    rig.choose();
    REQUIRE(rig.until(State::suspending));
    if (refuses) rig.machines->fail_next("n1", {Errc::conflict, "bmc-1", "a firmware update runs", "wait for its end"});
    for (int i = 0; i < 5; ++i) rig.step();
    REQUIRE(rig.orders.size() == 2);
    const wire::SleepOrder& last = rig.orders[1].second;
    CHECK(last.operation == rig.orders[0].second.operation);
    CHECK(last.granted == !refuses);
    CHECK(last.depth == (refuses ? "awake" : "off"));
    CHECK(rig.record().state == (refuses ? State::awake : State::suspending));
  }
}

TEST_CASE("cycles: a node that is still on after the sleep order resumes") {
  CycleRig rig;
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });
  rig.choose();
  REQUIRE(rig.until(State::suspending));
  REQUIRE(rig.until(State::probation));
  CHECK(rig.failures("went_on") == 1);
  comes_back(rig);
}

TEST_CASE("cycles: a wake without effect is repeated, then the node fails, and is tried again an hour later") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = true; });
  rig.cycles->wake("n1", "wanted", false);
  REQUIRE(rig.until(State::failed));
  CHECK(rig.failures("no_wake") == 1);
  rig.step();
  CHECK_FALSE(rig.is_marked());  // a failed node gets none of Wattle's marks
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.ignores_orders = false; });
  rig.step(std::chrono::hours(1));
  comes_back(rig);
}

TEST_CASE("cycles: without the API server no node is marked or put to sleep, and marks are removed after its return") {
  CycleRig rig;
  rig.marks->down = true;
  rig.choose();
  for (int i = 0; i < 300; ++i) rig.step();
  CHECK(rig.record().state == State::idle);
  CHECK(rig.orders.empty());
  REQUIRE(rig.until(State::awake));
  rig.step(kCallAgain);
  CHECK(rig.record().marked);
  rig.marks->down = false;
  rig.step(kCallAgain);
  comes_back(rig);
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.marks->down = true;  // a wake does not wait for it
  rig.cycles->wake("n1", "wanted", false);
  REQUIRE(rig.until(State::awake));
  for (int i = 0; i < 30; ++i) rig.step();
  CHECK(rig.is_marked());
  rig.marks->down = false;
  comes_back(rig);
}

TEST_CASE("cycles: a node that goes silent without a goodbye is lost until it returns") {
  CycleRig rig;
  rig.silent.insert("n1");
  REQUIRE(rig.until(State::failed));
  CHECK(rig.cycles->records().totals().failures.empty());  // not a failure of sleep
  CHECK_FALSE(rig.is_marked());
  rig.silent.clear();
  REQUIRE(rig.until(State::awake));
}

TEST_CASE("cycles: a sleeping node that wakes by itself, gets a pod, or loses its label returns to service") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.machines->change("n1", [](FakePower::Machine& machine) { machine.state = PowerState::on; });
  for (int i = 0; i < 6; ++i) rig.step();
  CHECK(rig.failures("woke_by_itself") == 1);
  comes_back(rig);
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.pods["n1"] = "shop/late";
  rig.step();
  CHECK(rig.record().state == State::waking);
  comes_back(rig);
  rig.pods.clear();
  rig.step();
  rig.choose();
  REQUIRE(rig.until(State::idle));
  NodeNow now = rig.now("n1");
  now.forbidden = true;
  rig.cycles->look(now);
  CHECK(rig.record().state == State::awake);
  comes_back(rig);
}

TEST_CASE("cycles: a new pod on a marked node stops its sleep") {
  CycleRig rig;
  rig.choose();
  rig.step();
  rig.pods["n1"] = "shop/late";
  rig.step();
  CHECK(rig.record().state == State::awake);
  CHECK(rig.record().reason == "pod shop/late came to the node");
  comes_back(rig);
  CHECK(rig.orders.empty());
}

TEST_CASE("cycles: a test is one round trip, and an unproven node wakes again even after a restart") {
  CycleRig rig;
  rig.around.rules.proven_round_trips = 2;
  rig.restart();
  rig.step();
  CHECK(rig.cycles->test("n9", Depth::off, true, "operator/ann").error().code == Errc::not_found);
  REQUIRE(rig.cycles->test("n1", Depth::off, true, "operator/ann"));
  CHECK(rig.cycles->test("n1", Depth::off, true, "operator/ann").error().code == Errc::conflict);
  REQUIRE(rig.until(State::asleep));
  rig.restart();
  REQUIRE(rig.until(State::awake));
  rig.step();
  CHECK(rig.record().round_trips == 1);
  rig.pods["n1"] = "shop/a";
  rig.step();
  NodeNow now = rig.now("n1");
  rig.cycles->look(now);
  CHECK(rig.cycles->test("n1", Depth::off, true, "operator/ann").error().code == Errc::conflict);
}

TEST_CASE("cycles: a drain evicts each pod once, follows its replacement, and ends in a sleep") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.choose("n1", {move_of("a", "shop/ReplicaSet/web", "n2"), move_of("b", "shop/ReplicaSet/db", "n3")});
  CHECK(rig.record().state == State::draining);
  CHECK(rig.cycles->reserved().size() == 2);
  for (int i = 0; i < 5; ++i) rig.step();
  CHECK(rig.marks->evictions == std::map<std::string, std::size_t>{{"a", 1}, {"b", 1}});
  rig.cycles->bound("a2", "shop/a2", "shop/ReplicaSet/web", "n2");
  rig.cycles->bound("b2", "shop/b2", "shop/ReplicaSet/db", "n3");
  CHECK(rig.cycles->reserved().empty());
  for (int i = 0; i < 10; ++i) rig.step();
  CHECK(rig.record().state == State::draining);  // a pod is still there
  rig.pods.clear();
  REQUIRE(rig.until(State::asleep));
  CHECK(rig.marks->evictions.size() == 2);
  CHECK(rig.cycles->records().ledger().rests("a2", "", rig.clock.wall(), {}).cause ==
        core::ExcludedFor::moved_recently);
}

TEST_CASE("cycles: a drain waits for a disruption budget, and two misplaced pods stop it") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.marks->answers["a"] = Evicted::refused;
  rig.choose("n1", {move_of("a", "shop/ReplicaSet/web", "n2"), move_of("b", "shop/ReplicaSet/db", "n3")});
  for (int i = 0; i < 120; ++i) rig.step();
  CHECK(rig.marks->evictions == std::map<std::string, std::size_t>{{"b", 1}});
  rig.marks->answers.clear();
  for (int i = 0; i < 600; ++i) rig.step();
  // The evicted pod did not start elsewhere in time.
  CHECK(rig.record().state == State::awake);
  CHECK(rig.record().reason.find("shop/b has not started elsewhere in time") != std::string::npos);
  CHECK(rig.marks->evictions.at("b") == 1);
  comes_back(rig);
}

TEST_CASE("cycles: a drain that a restart interrupts does not evict a pod twice") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.choose("n1", {move_of("a", "shop/ReplicaSet/web", "n2")});
  for (int i = 0; i < 3; ++i) rig.step();
  CHECK(rig.marks->evictions.at("a") == 1);
  rig.restart();
  rig.step();
  CHECK(rig.record().state == State::awake);
  rig.step();
  rig.choose("n1", {move_of("a", "shop/ReplicaSet/web", "n2")});
  for (int i = 0; i < 60; ++i) rig.step();
  CHECK(rig.marks->evictions.at("a") == 1);
}

TEST_CASE("cycles: a pod that another program evicts is not evicted again, and counts as a move") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.cluster_pods = 150;  // three moves an hour
  rig.choose("n1", {move_of("a", "web", "n2"), move_of("b", "db", "n3"), move_of("c", "mail", "n3")});
  rig.cycles->leaves(leaving_pod("b", "db", true), false);
  rig.cycles->leaves(leaving_pod("b", "db", true), true);  // seen again
  rig.cycles->leaves(leaving_pod("x", "log", true), false);
  for (int i = 0; i < 5; ++i) rig.step();
  CHECK(rig.marks->evictions.empty());  // two are in flight
  CHECK(rig.cycles->other_evictions().reason("n1", rig.clock.mono()).find("pod shop/x") != std::string::npos);
  CHECK(rig.cycles->other_evictions().reason("n2", rig.clock.mono()).empty());
  rig.cycles->bound("b2", "shop/b2", "db", "n9");  // not misplaced: Wattle did not plan it
  rig.cycles->bound("x2", "shop/x2", "log", "n9");
  for (int i = 0; i < 5; ++i) rig.step();
  // One of the three moves of this hour is left.
  CHECK(rig.marks->evictions == std::map<std::string, std::size_t>{{"a", 1}});
  rig.cycles->leaves(leaving_pod("a", "web", true), false);  // Wattle's own
  CHECK(rig.cycles->records().ledger().moves_within(rig.clock.wall(), std::chrono::hours(1)) == 3);
  CHECK(rig.cycles->records().ledger().rests("z", "db", rig.clock.wall(), {}));
  rig.cycles->bound("a2", "shop/a2", "web", "n2");
  for (int i = 0; i < 5; ++i) rig.step();
  CHECK(rig.marks->evictions.size() == 1);
  rig.cycles->leaves(leaving_pod("c", "mail", false), false);  // deleted
  rig.pods.clear();
  CHECK(rig.until(State::asleep));
  CHECK(rig.marks->evictions.size() == 1);
}

TEST_CASE("cycles: a moved pod that another program evicts counts again, and a restart counts none twice") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.choose("n1", {move_of("a", "web", "n2")});
  for (int i = 0; i < 5; ++i) rig.step();
  rig.cycles->bound("a2", "shop/a2", "web", "n2");
  const auto moves = [&] {
    return rig.cycles->records().ledger().moves_within(rig.clock.wall(), std::chrono::hours(1));
  };
  CHECK(moves() == 1);
  rig.cycles->leaves(leaving_pod("a2", "web", true), false);
  rig.step();
  CHECK(moves() == 2);
  rig.restart();
  for (const char* uid : {"a", "a2"}) rig.cycles->leaves(leaving_pod(uid, "web", true), std::nullopt);
  CHECK(moves() == 2);
  rig.cycles->leaves(leaving_pod("d", "cache", true), std::nullopt);  // evicted while no controller ran
  CHECK(moves() == 3);
}

TEST_CASE(
    "cycles: while another program empties a node Wattle evicts nothing, and a program that keeps it ends the drain") {
  CycleRig rig;
  rig.pods["n1"] = "shop/a";
  rig.emptied = true;
  rig.choose("n1", {move_of("a", "web", "n2")});
  for (int i = 0; i < 20; ++i) rig.step();
  CHECK(rig.record().state == State::draining);
  CHECK(rig.marks->evictions.empty());
  rig.held_by = "it is cordoned, not by Wattle";
  rig.step();
  CHECK(rig.record().state == State::awake);
  CHECK(rig.record().reason == rig.held_by);
  rig.step();
  CHECK_FALSE(rig.is_marked());
  CHECK(rig.marks->evictions.empty());
}

TEST_CASE("cycles: a node with an unreadable record is observed, and returns to service") {
  CycleRig rig;
  rig.choose();
  REQUIRE(rig.until(State::asleep));
  rig.disk.nodes.at("n1").record.reset();
  rig.restart();
  rig.step();
  comes_back(rig);
}

namespace {

// Counts the calls in progress, by node.
class CountedPower final : public NodePower {
 public:
  explicit CountedPower(std::shared_ptr<NodePower> power) : power_(std::move(power)) {}
  std::atomic<int> most_of_a_node{0}, most{0};

  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override {
    return power_->probe(node, limit);
  }
  Status sleep(const Node& node, Depth depth, const Operation& operation) override {
    const Call call(*this, node);
    return power_->sleep(node, depth, operation);
  }
  Status wake(const Node& node, const Operation& operation) override {
    const Call call(*this, node);
    return power_->wake(node, operation);
  }
  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override {
    const Call call(*this, node);
    return power_->observe(node, limit);
  }

 private:
  struct Call {
    Call(CountedPower& power, const Node& called) : of(power), node(called.name) {
      {
        const std::lock_guard lock(of.mutex_);
        of.most_of_a_node = std::max(of.most_of_a_node.load(), ++of.calls_[node]);
        of.most = std::max(of.most.load(), ++of.all_);
      }
      tests::pace(std::chrono::milliseconds(2));
    }
    ~Call() {
      const std::lock_guard lock(of.mutex_);
      --of.calls_[node];
      --of.all_;
    }
    CountedPower& of;
    std::string node;
  };
  std::shared_ptr<NodePower> power_;
  std::mutex mutex_;
  std::map<std::string, int> calls_;
  int all_ = 0;
};

}  // namespace

TEST_CASE("cycles: calls of different nodes run at once, those of one node in sequence") {
  CycleRig rig(true, 8);
  const auto counted = std::make_shared<CountedPower>(rig.machines);
  rig.cycles = std::make_unique<PowerCycles>(rig.around, std::make_unique<MemoryStore>(rig.disk), counted, rig.marks);
  REQUIRE(rig.cycles->load());
  rig.cycles->on_send([&rig](const std::string& node, const wire::SleepOrder& order) -> Status {
    if (!order.granted) rig.promised[node] = order.operation;
    return {};
  });
  rig.step();
  for (const std::string& node : rig.names) rig.choose(node);
  const auto all = [&](State state) {
    return tests::wait_until([&] {
      rig.step(std::chrono::milliseconds(100));
      return std::all_of(rig.names.begin(), rig.names.end(),
                         [&](const std::string& node) { return rig.record(node).state == state; });
    });
  };
  REQUIRE(all(State::asleep));
  for (const std::string& node : rig.names) rig.cycles->wake(node, "all", false);
  REQUIRE(all(State::awake));
  CHECK(counted->most_of_a_node == 1);
  CHECK(counted->most > 1);
  for (const std::string& node : rig.names) {
    CHECK(rig.machines->machine(node).slept.size() == 1);
    CHECK(rig.machines->machine(node).woken.size() == 1);
  }
}
