// shallow_orders: which nodes are asked to use shallow idle states, and the orders that are sent.
#include "controller/power/shallow_orders.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
namespace core = wattle::placement::sleep;

namespace {

using Sent = std::vector<std::pair<std::string, std::uint64_t>>;

// An idle node that the plan keeps awake.
struct Kept {
  power::SleepSnapshot snapshot;
  core::SleepPlan plan;

  Kept() {
    core::SleepNode node;
    node.name = "n1";
    node.facts.mode = core::SleepMode::automatic;
    node.record.state = core::PowerState::awake;
    snapshot.now = wall_from_ns(3'600'000'000'000);
    snapshot.acts = true;
    snapshot.nodes = {node};
    snapshot.offers_shallow = {"n1"};
    plan.kept = {{0, "n1", {core::ExcludedFor::spare, "reason"}}};
  }
  core::SleepNode& node() { return snapshot.nodes[0]; }
  bool chosen() { return power::choose_shallow(snapshot, plan).contains("n1"); }
};

struct Orders : controller::test::DeciderRig {
  Log log = Log::silent();
  power::ShallowOrders orders{clock, log};
  std::vector<std::pair<std::string, std::uint64_t>> sent;
  bool connected = true;

  Orders() : DeciderRig(Mode::shadow) {
    for (const char* name : {"n1", "n2"}) {
      wire::Hello hello = hello_of(name);
      hello.features = {std::string(power::kShallow)};
      state.greet(hello);
    }
    orders.on_send([this](const std::string& node, const wire::SleepOrder& order) -> Status {
      CHECK(order.depth == power::kShallow);
      CHECK(order.by_agent);
      CHECK_FALSE(order.granted);
      CHECK(order.operation == 0);
      if (!connected) return fail(Errc::unavailable, node, "its agent is not connected");
      sent.emplace_back(node, order.wake_after_s);
      return {};
    });
  }
  Sent taken() { return std::exchange(sent, {}); }
  Sent plan(std::set<std::string> nodes) {
    orders.choose(std::move(nodes));
    orders.turn(state);
    return taken();
  }
  bool offered(const std::string& node) { return power::offers_shallow(state, *state.node(node)); }
  void put(placement::PodSpec pod) {
    pod.uid = pod.name = "web";
    state.pods().describe(pod, false);
    state.pods().bind("web", "n1", false, clock.mono());
  }
};

}  // namespace

TEST_CASE("an idle node that the plan keeps awake is chosen, and the plan says so") {
  Kept kept;
  CHECK(kept.chosen());
  CHECK(kept.plan.kept[0].why.reason == "reason (shallow)");
}

TEST_CASE("a node that must stay fast is not chosen, whatever reason the plan gives") {
  const auto refused = [](const std::function<void(Kept&)>& change) {
    Kept kept;
    change(kept);
    return !kept.chosen() && kept.plan.kept[0].why.reason == "reason";
  };
  CHECK(refused([](Kept& kept) { kept.node().facts.mode = core::SleepMode::recommend; }));
  CHECK(refused([](Kept& kept) { kept.node().facts.control_plane = true; }));
  CHECK(refused([](Kept& kept) { kept.node().facts.runs_controller = true; }));
  CHECK(refused([](Kept& kept) { kept.node().facts.runs_scheduler = true; }));
  CHECK(refused([](Kept& kept) { kept.node().facts.excluded_by = "disk check"; }));
  CHECK(refused([](Kept& kept) { kept.node().ready = false; }));
  CHECK(refused([](Kept& kept) { kept.node().record.state = core::PowerState::asleep; }));
  CHECK(refused([](Kept& kept) { kept.node().record.last_woken = kept.snapshot.now - 10s; }));
  CHECK(refused([](Kept& kept) { kept.snapshot.offers_shallow.clear(); }));
  CHECK(refused([](Kept& kept) { kept.snapshot.acts = false; }));
}

TEST_CASE_FIXTURE(Orders, "a node with a pod, or with a DaemonSet's pod that has a latency limit, has work") {
  CHECK(offered("n1"));
  SUBCASE("a pod of a DaemonSet without a limit does not count as work") {
    placement::PodSpec pod;
    pod.daemonset = true;
    put(pod);
    CHECK(offered("n1"));
  }
  SUBCASE("any other pod is") {
    put({});
    CHECK_FALSE(offered("n1"));
  }
  SUBCASE("a pod of a DaemonSet with a latency limit is") {
    placement::PodSpec pod;
    pod.daemonset = true;
    SUBCASE("soft") { pod.latency_soft_ms = 20; }
    SUBCASE("hard") { pod.latency_hard_ms = 20; }
    put(pod);
    CHECK_FALSE(offered("n1"));
  }
  CHECK(offered("n2"));
}

TEST_CASE_FIXTURE(Orders, "an agent that does not offer the feature gets no order") {
  state.greet(hello_of("n1"));
  CHECK_FALSE(offered("n1"));
}

TEST_CASE_FIXTURE(Orders, "an order is repeated each minute, and ended once when the node is no longer chosen") {
  CHECK(plan({"n1", "n2"}) == Sent{{"n1", 180}, {"n2", 180}});
  clock.advance(30s);
  CHECK(plan({"n1", "n2"}).empty());
  clock.advance(30s);
  CHECK(plan({"n1"}) == Sent{{"n2", 0}, {"n1", 180}});
  orders.end("n1");
  orders.end("n1");
  CHECK(taken() == Sent{{"n1", 0}});
}

TEST_CASE_FIXTURE(Orders, "without a new plan an order is not repeated") {
  CHECK(plan({"n1"}) == Sent{{"n1", 180}});
  clock.advance(10min);
  orders.turn(state);
  CHECK(taken().empty());
}

TEST_CASE_FIXTURE(Orders, "work on a node ends its order in the next turn, and an earlier plan does not repeat it") {
  CHECK(plan({"n1"}) == Sent{{"n1", 180}});
  put({});
  orders.turn(state);
  CHECK(taken() == Sent{{"n1", 0}});
  CHECK(plan({"n1"}).empty());
}

TEST_CASE_FIXTURE(Orders, "an order that does not reach its node is sent again by the next plan") {
  connected = false;
  CHECK(plan({"n1"}).empty());
  connected = true;
  orders.turn(state);
  CHECK(taken().empty());
  CHECK(plan({"n1"}).size() == 1);
}
