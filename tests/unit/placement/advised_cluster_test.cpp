// advised_cluster: a copy of the cluster as it would be if advice had been followed: cases by hand, and its invariants.
#include "placement/judge/advised_cluster.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wattle::placement {
namespace {

// A node of eight cores with `idle_w` at rest and `core_w` per used core.
FleetNode node_of(double idle_w, double core_w) {
  FleetNode node;
  node.allocatable = {8, 8e9};
  for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = idle_w + core_w * 8 * static_cast<double>(k) / 10;
  node.wake_j = 1000;
  node.sleep_w = 5;
  return node;
}

constexpr double kWake_j = 700;

PodEstimate estimate_of(double cores) { return {{cores, 1e9}, cores, 600, 0, 0}; }

// The real cluster, and beside it the advised copy.
struct TwoSides {
  Fleet fleet;
  ClusterView view;
  AdvisedCluster advised;
  MonoTime now{std::chrono::seconds(100)};

  explicit TwoSides(std::vector<FleetNode> nodes) {
    fleet.nodes = std::move(nodes);
    fleet.pods_stay = false;
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
      view.nodes.emplace_back();
      view.nodes.back().name = "n" + std::to_string(i);
      view.nodes.back().allocatable = fleet.nodes[i].allocatable;
      view.nodes.back().values.cpu_used_cores = 0;
    }
  }
  // Empty nodes sleep from now on. A wake costs as much energy as several seconds awake.
  void sleep_when_empty() {
    fleet.idle_nodes_sleep = true;
    for (NodeView& node : view.nodes) node.wake_cost_j = kWake_j;
    for (std::size_t row = 0; row < fleet.nodes.size(); ++row) sleep_if_empty(row);
  }
  void sleep_if_empty(std::size_t row) {
    fleet.nodes[row].sleeps = view.nodes[row].asleep = fleet.idle_nodes_sleep && fleet.nodes[row].pods == 0;
  }
  AdvisedCluster::Place place(std::size_t row) const { return {row, view.nodes[row].name}; }
  void advise(const std::string& uid, std::size_t row, const PodEstimate& ask) {
    advised.advise(uid, place(row), ask, now);
  }
  // Adds the pod to the real cluster, or removes it.
  void count(std::size_t row, const PodEstimate& ask, int sign) {
    FleetNode& node = fleet.nodes[row];
    NodeView& seen = view.nodes[row];
    node.pods = seen.pods = sign > 0 ? node.pods + 1 : node.pods - 1;
    node.requested.cpu_cores = seen.requested.cpu_cores += sign * ask.request.cpu_cores;
    node.requested.memory_bytes = seen.requested.memory_bytes += sign * ask.request.memory_bytes;
    node.used_cores += sign * ask.demand_cores;
    node.used_cores2 += sign * ask.demand_cores2;
    *seen.values.cpu_used_cores += sign * ask.demand_cores;
    sleep_if_empty(row);
  }
  void run(const std::string& uid, std::size_t row, const PodEstimate& ask) {
    count(row, ask, 1);
    advised.placed(uid, place(row), now);
  }
  ComparedLoad compare() {
    view.now = now;
    return advised.compare(view, fleet);
  }
  // Waits until a node that is empty only in the copy sleeps there.
  ComparedLoad rest() {
    compare();
    now += std::chrono::seconds(60);
    return compare();
  }
  const FleetNode& copied(std::size_t row) { return advised.copy(view, fleet).fleet.nodes[row]; }
};

TEST_CASE("replicas count where they were advised: in flight, and while they run elsewhere, until they end") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  const std::string owner = "default/ReplicaSet/web";
  const auto replicas = [&](const std::string& of = "default/ReplicaSet/web") {
    const ClusterView& view = both.advised.copy(both.view, both.fleet, of).view;
    return std::array{view.nodes[0].owner_pods, view.nodes[1].owner_pods};
  };
  using Counts = std::array<std::uint64_t, 2>;
  both.advised.advise("a", both.place(1), estimate_of(1), both.now, wattle::Duration::zero(), owner);
  CHECK(replicas() == Counts{0, 1});
  CHECK(replicas("default/ReplicaSet/other") == Counts{0, 0});
  both.run("a", 0, estimate_of(1));
  both.view.nodes[0].owner_pods = 1;  // the real cluster
  CHECK(replicas() == Counts{0, 1});
  both.advised.ended("a");
  both.view.nodes[0].owner_pods = 0;
  CHECK(replicas() == Counts{0, 0});
}

TEST_CASE("the power of acting is the sum of the curves with the pods where they were advised") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  const PodEstimate ask = estimate_of(2);
  both.advise("a", 1, ask);
  both.run("a", 0, ask);
  const ComparedLoad load = both.compare();
  CHECK(load.now.power_w == doctest::Approx(120 + 50));
  CHECK(load.advised.power_w == doctest::Approx(100 + 60));
  CHECK(load.now.wake_j == 0);
  CHECK(load.advised.wake_j == 0);
  CHECK(load.advised_pods == 1);
  CHECK(load.displaced_pods == 1);
  both.advised.ended("a");
  both.count(0, ask, -1);
  CHECK(both.compare().now.power_w == doctest::Approx(150));
  CHECK(both.compare().advised.power_w == doctest::Approx(150));
  CHECK(both.advised.same());
}

TEST_CASE("if empty nodes sleep, each side has the energy of its own awake nodes and wakes") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.sleep_when_empty();
  const PodEstimate ask = estimate_of(2);
  CHECK(both.compare().now.power_w == doctest::Approx(5 + 5));
  both.advise("a", 1, ask);
  both.run("a", 0, ask);
  const ComparedLoad load = both.compare();
  CHECK(load.now.power_w == doctest::Approx(120 + 5));
  CHECK(load.advised.power_w == doctest::Approx(5 + 60));
  CHECK(load.now.wake_j == 1000);
  CHECK(load.advised.wake_j == 1000);
  // The second pod finds the node awake on the advised side, and wakes another in the real cluster.
  both.advise("b", 1, ask);
  both.run("b", 1, ask);
  const ComparedLoad next = both.compare();
  CHECK(next.now.power_w == doctest::Approx(120 + 60));
  CHECK(next.advised.power_w == doctest::Approx(5 + 70));
  CHECK(next.now.wake_j == 1000);
  CHECK(next.advised.wake_j == 0);
  CHECK(both.copied(0).sleeps);
  CHECK_FALSE(both.copied(1).sleeps);
}

TEST_CASE("a node that sleeps on one side only draws part of its idle power there, and its wakes are charged") {
  TwoSides both({node_of(200, 10), node_of(300, 5), node_of(10, 1)});
  both.sleep_when_empty();
  for (std::size_t row = 0; row < 2; ++row) both.fleet.nodes[row].wake_j = 0;  // awake nodes have no wake energy
  const PodEstimate ask = estimate_of(2);
  both.run("here", 0, ask);
  both.run("there", 1, ask);
  both.run("b", 1, ask);
  both.advise("a", 0, ask);
  both.run("a", 1, ask);
  CHECK(both.compare().now.power_w == doctest::Approx(220 + 330 + 5));
  both.count(1, ask, -1);
  both.count(1, ask, -1);
  CHECK(both.compare().advised.power_w == doctest::Approx(240 + 300 + 5));  // the node has just become empty
  const ComparedLoad slept = both.rest();
  CHECK(slept.advised.power_w == doctest::Approx(240 + 15 + 5));
  CHECK(both.copied(1).wake_j == 700);
  both.count(1, ask, 1);
  const ComparedLoad woke = both.compare();
  CHECK(woke.advised.wake_j == 700);
  CHECK(woke.now.wake_j == 0);
}

TEST_CASE("waiting is that of the nodes as they would be filled, weighted by pods") {
  TwoSides both({node_of(100, 10), node_of(100, 10)});
  for (FleetNode& node : both.fleet.nodes) node.waiting.slopes = {0, 0, 0.4, 0, 0, 0, 0, 0};  // above half of the cores
  const PodEstimate ask = estimate_of(3);
  for (const char* uid : {"a", "b"}) both.advise(uid, 0, ask);
  both.run("a", 0, ask);
  both.run("b", 1, ask);
  const ComparedLoad load = both.compare();
  CHECK(load.now.waited_pods == doctest::Approx(0));                           // 3 of 8 cores each
  CHECK(load.advised.waited_pods == doctest::Approx(2 * 0.4 * (0.75 - 0.5)));  // 6 of 8
  CHECK(load.now.pods == 2);
  CHECK(load.advised.pods == 2);
}

TEST_CASE("an advised pod takes room, a slot and a start at once, and power only once it runs") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.advise("a", 1, estimate_of(2));
  const AdvisedCluster::Copy& copy = both.advised.copy(both.view, both.fleet);
  CHECK(copy.view.nodes[1].in_flight == 1);
  CHECK(copy.view.nodes[1].in_flight_request.cpu_cores == 2);
  CHECK(copy.view.nodes[1].starts == 1);
  CHECK(copy.view.nodes[1].pods == 0);
  CHECK(copy.fleet.nodes[1].requested.cpu_cores == 2);
  CHECK(copy.fleet.nodes[1].pods == 1);
  CHECK(both.view.nodes[1].in_flight == 0);
  CHECK(both.compare().advised.power_w == both.compare().now.power_w);
  both.run("a", 0, estimate_of(2));
  const AdvisedCluster::Copy& then = both.advised.copy(both.view, both.fleet);
  CHECK(then.view.nodes[1].in_flight == 0);
  CHECK(then.view.nodes[1].pods == 1);
  CHECK(then.view.nodes[1].requested.cpu_cores == 2);
  CHECK(*then.view.nodes[1].values.cpu_used_cores == 2);
  CHECK(then.view.nodes[0].pods == 0);
  CHECK(then.view.nodes[0].requested.cpu_cores == 0);
}

TEST_CASE("a pod that is kept, or that its scheduler may hold, takes its room until it runs or is withdrawn") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.advise("kept", 1, estimate_of(1));
  both.advised.keep("kept");
  both.advised.advise("held", {1, both.view.nodes[1].name}, estimate_of(1), both.now, std::chrono::minutes(5));
  both.advised.keep("unknown");
  const auto expected = [&] { return both.advised.copy(both.view, both.fleet).view.nodes[1].in_flight; };
  both.now += std::chrono::seconds(299);
  both.advised.expire(both.view, both.now);
  CHECK(expected() == 2);
  both.now += std::chrono::seconds(1);
  both.advised.expire(both.view, both.now);
  CHECK(expected() == 1);
  both.now += std::chrono::hours(3);
  both.advised.expire(both.view, both.now);
  CHECK(expected() == 1);
  both.advised.withdraw("kept");
  CHECK(expected() == 0);
  CHECK(both.advised.same());
}

TEST_CASE("a pod that does not appear in time, or whose node is removed, is in its real place on both sides") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.advise("late", 1, estimate_of(1));
  both.now += std::chrono::seconds(30);
  both.advised.expire(both.view, both.now);
  CHECK(both.advised.same());
  both.run("late", 0, estimate_of(1));
  CHECK(both.compare().advised.power_w == both.compare().now.power_w);
  CHECK(both.compare().advised_pods == 0);

  both.advise("a", 1, estimate_of(1));
  both.run("a", 0, estimate_of(1));
  both.advise("expected", 1, estimate_of(1));
  CHECK_FALSE(both.advised.same());
  both.view.nodes[1].name = "another";
  both.advised.expire(both.view, both.now);
  CHECK(both.advised.same());
  CHECK(both.compare().advised.power_w == both.compare().now.power_w);
}

TEST_CASE("learned usage of a pod applies both where it was advised and where it runs") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.advise("a", 1, estimate_of(1));
  both.run("a", 0, estimate_of(1));
  CHECK(both.advised.displaced("a"));
  both.fleet.nodes[0].used_cores = 3;
  both.advised.learned("a", estimate_of(3));
  CHECK(both.compare().now.power_w == doctest::Approx(130 + 50));
  CHECK(both.compare().advised.power_w == doctest::Approx(100 + 65));
}

// Random events of a dozen pods. `follows`: the pods run where they are advised.
void play(TwoSides& both, bool follows, const std::function<void()>& look) {
  struct Live {
    std::size_t row = 0;
    PodEstimate ask;
  };
  std::map<int, Live> runs, advice;
  const int steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i) {
    const int pod = *rc::gen::inRange(0, 12), what = *rc::gen::inRange(0, 6);
    const auto row = *rc::gen::inRange<std::size_t>(0, both.view.nodes.size());
    const std::string uid = "p" + std::to_string(pod);
    const PodEstimate ask = estimate_of(*rc::gen::inRange(1, 5) / 4.0);
    both.now += std::chrono::seconds(*rc::gen::inRange(0, 12));
    both.advised.expire(both.view, both.now);
    const auto live = runs.find(pod);
    if (live == runs.end() && what <= 1) {
      both.advise(uid, row, ask);
      advice[pod] = {row, ask};
    } else if (live == runs.end() && what <= 3) {
      const auto known = advice.find(pod);
      const PodEstimate size = known != advice.end() ? known->second.ask : ask;
      runs[pod] = {follows && known != advice.end() ? known->second.row : row, size};
      both.run(uid, runs[pod].row, size);
    } else if (live == runs.end()) {
      both.advised.withdraw(uid);
    } else if (what == 4) {
      both.count(live->second.row, live->second.ask, -1);
      both.count(live->second.row, ask, 1);
      live->second.ask = ask;
      if (both.advised.displaced(uid)) both.advised.learned(uid, ask);
    } else if (what == 5) {
      both.advised.ended(uid);
      both.count(live->second.row, live->second.ask, -1);
      runs.erase(live);
      advice.erase(pod);
    }
    look();
  }
  for (const auto& [pod, live] : runs) {
    both.advised.ended("p" + std::to_string(pod));
    both.count(live.row, live.ask, -1);
  }
  both.now += std::chrono::seconds(60);
  both.advised.expire(both.view, both.now);
}

std::vector<FleetNode> four_nodes() { return {node_of(100, 10), node_of(80, 8), node_of(60, 12), node_of(50, 5)}; }

TEST_CASE("both sides have the same pods at every moment, and no trace of those that ended") {
  CHECK(rc::check([] {
    TwoSides both(four_nodes());
    play(both, false, [&] {
      const ComparedLoad load = both.compare();
      RC_ASSERT(load.now.pods == load.advised.pods);
      const AdvisedCluster::Copy& copy = both.advised.copy(both.view, both.fleet);
      double now = 0, advised = 0;
      for (std::size_t i = 0; i < both.view.nodes.size(); ++i) {
        now += both.view.nodes[i].requested.cpu_cores;
        advised += copy.view.nodes[i].requested.cpu_cores;
      }
      RC_ASSERT(std::abs(now - advised) < 1e-9);
    });
    RC_ASSERT(both.advised.same());
    RC_ASSERT(both.compare().now.power_w == both.compare().advised.power_w);
  }));
}

TEST_CASE("if pods run where they are advised, both sides are equal to the last bit") {
  CHECK(rc::check([] {
    TwoSides both(four_nodes());
    if (*rc::gen::arbitrary<bool>()) both.sleep_when_empty();
    play(both, true, [&] {
      const ComparedLoad load = both.compare();
      RC_ASSERT(load.displaced_pods == 0);
      RC_ASSERT(load.now.power_w == load.advised.power_w);
      RC_ASSERT(load.now.waited_pods == load.advised.waited_pods);
      RC_ASSERT(load.now.wake_j == load.advised.wake_j);
    });
  }));
}

TEST_CASE("a node that wakes ahead of its pods is charged once, on both sides") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.sleep_when_empty();
  both.compare();
  both.view.nodes[0].asleep = both.fleet.nodes[0].sleeps = false;  // the plan expects pods
  const ComparedLoad woke = both.compare();
  CHECK(woke.now.wake_j == 1000);
  CHECK(woke.advised.wake_j == 1000);
  both.advise("a", 0, estimate_of(2));
  both.run("a", 0, estimate_of(2));
  const ComparedLoad next = both.compare();
  CHECK(next.now.wake_j == 0);
  CHECK(next.advised.wake_j == 0);
}

TEST_CASE("the copy keeps as many empty nodes awake as the cluster, and a spare has no wake") {
  TwoSides both({node_of(200, 10), node_of(300, 5), node_of(10, 1)});
  both.sleep_when_empty();
  const PodEstimate ask = estimate_of(2);
  both.run("here", 0, ask);
  both.advise("a", 2, ask);
  both.run("a", 1, ask);
  both.view.nodes[2].asleep = false;  // the spare gets a pod in the copy
  CHECK(both.rest().advised.power_w == doctest::Approx(220 + 300 + 12));
  both.advised.ended("a");
  both.advise("b", 0, ask);
  both.advised.placed("b", both.place(1), both.now);
  CHECK(both.rest().advised.power_w == doctest::Approx(240 + 15 + 10));  // the spare is empty on both sides
  both.advised.ended("b");
  both.advise("c", 2, ask);
  both.advised.placed("c", both.place(1), both.now);
  const ComparedLoad awake = both.compare();
  CHECK(awake.advised.power_w == doctest::Approx(220 + 300 + 12));
  CHECK(awake.advised.wake_j == 0);
}

TEST_CASE("a node that may not sleep is awake in the copy, and so are all nodes once sleep has ended") {
  for (const bool ends : {false, true}) {
    TwoSides both({node_of(200, 10), node_of(300, 5)});
    if (ends) both.sleep_when_empty();
    both.fleet.idle_nodes_sleep = true;  // nodes slept before
    const PodEstimate ask = estimate_of(2);
    both.run("here", 0, ask);
    both.advise("a", 0, ask);
    both.run("a", 1, ask);
    CHECK(both.rest().advised.power_w == doctest::Approx(240 + (ends ? 15 : 300)));
    for (NodeView& node : both.view.nodes) node.wake_cost_j = 0;
    CHECK(both.rest().advised.power_w == doctest::Approx(240 + 300));
  }
}

TEST_CASE("without Wattle all nodes are awake, and no wake is charged") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.advised = AdvisedCluster({.all_awake = true});
  both.sleep_when_empty();
  const PodEstimate ask = estimate_of(2);
  CHECK(both.compare().advised.power_w == doctest::Approx(100 + 50));
  both.advise("a", 1, ask);
  both.run("a", 0, ask);
  const ComparedLoad load = both.rest();
  CHECK(load.now.power_w == doctest::Approx(120 + 5));
  CHECK(load.advised.power_w == doctest::Approx(100 + 60));
  CHECK(load.advised.wake_j == 0);
  CHECK(load.asleep_w == doctest::Approx(50 - 5));
  both.fleet.nodes[1].allocatable = {};  // a node that takes no pods
  both.view.nodes[1].allocatable = {8, 8e9};
  CHECK(both.compare().advised.power_w == doctest::Approx(100 + 60));
  CHECK(both.compare().advised.waited_pods == 0);
  CHECK(load.may_sleep_ratio == doctest::Approx(1));
}

TEST_CASE("a row that another node takes has no wake") {
  TwoSides both({node_of(100, 10), node_of(50, 5)});
  both.sleep_when_empty();
  both.compare();
  both.view.nodes[0].name = "another";
  both.view.nodes[0].asleep = false;
  CHECK(both.compare().now.wake_j == 0);
}

}  // namespace
}  // namespace wattle::placement
