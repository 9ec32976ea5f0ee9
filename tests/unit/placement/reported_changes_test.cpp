// A view that reports its changes is read in part, with the same result as a full read.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <random>

#include "placement/cluster/cluster_model.hpp"
#include "placement/plan/planner.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

// The same history of two clusters, one of which reports its changes.
struct Both {
  std::mt19937_64 random;
  ClusterModel reported, unreported;
  ClusterView reporting, silent;
  Planner by_reported{{}}, by_unreported{{}};
  double now_s = 0;
  std::uint64_t made = 0;
  struct Running {
    std::string uid;
    std::size_t node;
    Resources request;
  };
  std::vector<Running> running;

  explicit Both(std::uint64_t seed) : random(seed), reported(options_of(seed)), unreported(options_of(seed)) {
    const std::size_t nodes = 1 + random() % 30;
    for (std::size_t i = 0; i < nodes; ++i)
      reporting.nodes.push_back(
          testing::healthy_node("n" + std::to_string(i), 2.0 + static_cast<double>(random() % 30)));
    silent = reporting;
    reporting.edition_of.assign(nodes, ++reporting.edition);
    pass();
  }
  static ClusterModelOptions options_of(std::uint64_t seed) {
    ClusterModelOptions options;
    options.idle_nodes_sleep = seed % 3 == 0;
    return options;
  }
  double real(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); }
  std::size_t row() { return random() % silent.nodes.size(); }

  template <class Change>
  void change(std::size_t node, Change how) {
    how(silent.nodes[node]);
    how(reporting.nodes[node]);
    reporting.edition_of[node] = ++reporting.edition;
  }
  void both(const std::function<void(ClusterModel&)>& how) {
    how(reported);
    how(unreported);
  }
  void pass() {
    now_s += real(1, 900);
    silent.now = reporting.now = MonoTime{} + from_seconds(now_s);
    reported.refresh(reporting);
    unreported.refresh(silent);
  }
  void come() {
    PodSpec pod;
    pod.uid = "pod-" + std::to_string(++made);
    pod.app = "ReplicaSet/app-" + std::to_string(random() % 3) + " image:1";
    pod.request = {0.25 * static_cast<double>(1 + random() % 8), 1e9};
    const std::size_t node = row();
    both([&](ClusterModel& cluster_model) { cluster_model.placed(pod, silent.nodes[node].name, silent.now); });
    change(node, [&](NodeView& seen) {
      ++seen.pods;
      seen.requested.cpu_cores += pod.request.cpu_cores;
    });
    running.push_back({pod.uid, node, pod.request});
  }
  void go() {
    if (running.empty()) return;
    const std::size_t which = random() % running.size();
    const Running pod = running[which];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    both([&](ClusterModel& cluster_model) { cluster_model.gone(pod.uid, silent.now); });
    change(pod.node, [&](NodeView& seen) {
      --seen.pods;
      seen.requested.cpu_cores -= pod.request.cpu_cores;
    });
  }
  // A random event in a cluster between two asks.
  void happen() {
    switch (random() % 7) {
      case 0:
        return pass();
      case 1:
        return go();
      case 2: {
        if (running.empty()) return;
        const std::string uid = running[random() % running.size()].uid;
        const double cores = real(0, 2);
        return both([&](ClusterModel& cluster_model) { testing::use_pod(cluster_model, uid, cores, 60); });
      }
      case 3: {
        const double cores = real(0, 3);
        return change(row(), [&](NodeView& node) {
          node.in_flight = cores > 1 ? 1 : 0;
          node.in_flight_request = {cores > 1 ? cores : 0, 0};
        });
      }
      case 4:
        return change(row(), [&](NodeView& node) { node.asleep = !node.asleep && node.pods == 0; });
      case 5: {  // another node takes a row
        const std::string name = "new-" + std::to_string(++made);
        return change(row(), [&](NodeView& node) { node.name = name; });
      }
      default:
        return come();
    }
  }
  std::vector<std::size_t> some() {
    std::vector<std::size_t> rows;
    const std::size_t one_in = 1 + random() % 12;
    for (std::size_t i = 0; i < silent.nodes.size(); ++i)
      if (random() % one_in == 0) rows.push_back(i);
    if (rows.empty()) rows.push_back(row());
    std::shuffle(rows.begin(), rows.end(), random);
    return rows;
  }
};

// Gives one plan to a planner without history.
struct Given final : PlanMaker {
  std::shared_ptr<const Plan> plan;
  void want(const Fleet&) override {}
  std::shared_ptr<const Plan> newest() override { return plan; }
};

void same(const PlanView::Node& one, const PlanView::Node& other) {
  RC_ASSERT(one.left == other.left);
  RC_ASSERT(one.expected == other.expected);
  RC_ASSERT(one.preference == other.preference);
  RC_ASSERT(one.empties_s == other.empties_s);
}

void same(const Fleet& a, const Fleet& b) {
  RC_ASSERT(a.nodes.size() == b.nodes.size());
  RC_ASSERT(a.idle_nodes_sleep == b.idle_nodes_sleep);
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const FleetNode &one = a.nodes[i], &other = b.nodes[i];
    RC_ASSERT(one.open == other.open);
    RC_ASSERT(one.requested.cpu_cores == other.requested.cpu_cores);
    RC_ASSERT(one.allocatable.cpu_cores == other.allocatable.cpu_cores);
    RC_ASSERT(one.pods == other.pods);
    RC_ASSERT(one.pod_capacity == other.pod_capacity);
    RC_ASSERT(one.used_cores == other.used_cores);
    RC_ASSERT(one.sleeps == other.sleeps);
    RC_ASSERT(one.wake_j == other.wake_j);
    RC_ASSERT(one.empties_at_s - a.now_s == other.empties_at_s - b.now_s);
    RC_ASSERT(one.watts == other.watts);
  }
}

TEST_CASE("a fleet of a view that reports its changes equals the fleet of one that does not") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Both life(seed);
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t i = life.random() % 4; i > 0; --i) life.happen();
      if (life.random() % 4 == 0) {
        same(life.reported.fleet(life.reporting), life.unreported.fleet(life.silent));
      } else {
        const std::vector<std::size_t> only = life.some();
        same(life.reported.fleet(life.reporting, only), life.unreported.fleet(life.silent, only));
      }
    }
  }));
}

TEST_CASE("a plan for some nodes equals the plan for all of them, for either view and any history") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Both life(seed);
    for (int step = 0; step < 40; ++step) {
      for (std::uint64_t i = life.random() % 6; i > 0; --i) life.happen();
      const std::vector<std::size_t> only = life.some();
      const PodEstimate ask{
          {0.25 * static_cast<double>(1 + life.random() % 8), 1e9}, life.real(0, 2), life.real(60, 9000)};
      const PlanView part = life.by_reported.view(life.reported.fleet(life.reporting, only), ask, only);
      Fleet whole = life.unreported.fleet(life.silent);
      for (FleetNode& node : whole.nodes) node.open = false;
      for (const std::size_t row : only) whole.nodes[row].open = true;
      const PlanView all = life.by_unreported.view(whole, ask);
      RC_ASSERT(part.pick == all.pick);
      RC_ASSERT(part.expected_pods == all.expected_pods);
      RC_ASSERT(part.nodes.size() == only.size());
      for (std::size_t k = 0; k < only.size(); ++k) same(part.nodes[k], all.nodes[only[k]]);
      Given given;
      given.plan = life.by_unreported.plan();
      Planner again{{}};
      again.plan_with(&given);
      const PlanView fresh = again.view(whole, ask);
      RC_ASSERT(fresh.pick == all.pick);
      RC_ASSERT(fresh.expected_pods == all.expected_pods);
      for (std::size_t i = 0; i < whole.nodes.size(); ++i) same(fresh.nodes[i], all.nodes[i]);
    }
  }));
}

}  // namespace
}  // namespace wattle::placement
