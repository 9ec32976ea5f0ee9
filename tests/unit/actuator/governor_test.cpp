#include "actuator/governor.hpp"

#include <doctest/doctest.h>

#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;
using actuation::Level;
using actuation::Order;
using actuation::Orders;
using actuation::State;

namespace {
// A node of four cores in ticks, and one service with scripted usage.
struct Node {
  explicit Node(const Rules& rules = {}) : limits(tree.mounts(), os) {
    tree.add("/a", "200000", "0", "max");
    stat();
    proc();
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), limits);
    auto load = NodeLoad::open_(tree.path() + "/proc", 4);
    REQUIRE(load);
    governor.emplace(limits, limits, *ledger, std::move(*load), rules);
  }
  void stat() const {
    overwrite(tree.root() + "/a/cpu.stat", "usage_usec " + std::to_string(used_us) + "\nnr_periods " +
                                               std::to_string(periods) + "\nnr_throttled " + std::to_string(throttled) +
                                               "\nthrottled_usec " + std::to_string(throttled_us) + "\n");
  }
  void proc() const {
    overwrite(tree.path() + "/proc/stat",
              "cpu " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\n");
    std::filesystem::create_directories(tree.path() + "/proc/pressure");
    overwrite(tree.path() + "/proc/pressure/cpu",
              "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(throttled_us + others_us) + "\n");
  }
  // Ten ticks a second.
  void pass(double for_s, double cores, bool is_throttled = false) {
    for (int i = 0; i < static_cast<int>(for_s * 10 + 0.5); ++i) {
      now += std::chrono::milliseconds(100);
      used_us += static_cast<std::uint64_t>(cores * 100'000);
      ++periods;
      throttled += is_throttled;
      throttled_us += is_throttled ? 40'000 : 0;  // by its own quota, and so part of the node's pressure
      others_us += others_wait ? 40'000 : 0;
      busy += static_cast<std::uint64_t>(cores * 10);
      idle += static_cast<std::uint64_t>((4 - cores) * 10);
      stat();
      proc();
      governor->tick(now);
    }
  }
  std::int64_t quota() const { return *parse_limit(tree.get("/a", Knob::quota_us)); }
  actuation::Grant grant() const {
    const auto report = governor->report();
    REQUIRE(report.grants.size() == 1);
    return report.grants[0];
  }

  KernelTree tree;
  KernelOs os;
  CgroupLimits limits;
  std::optional<Ledger> ledger;
  std::optional<Governor> governor;
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0, periods = 0, throttled = 0, throttled_us = 0, others_us = 0, busy = 0, idle = 0;
  bool others_wait = false;
};
}  // namespace

TEST_CASE("level suggest reports the suggested limits and the freed amount, and writes nothing") {
  Node node;
  node.governor->orders().own({{"/a", Level::suggest}});
  node.pass(20, 0.5);
  CHECK(node.ledger->writes() == 0);
  CHECK(node.quota() == 200'000);
  const auto grant = node.grant();
  CHECK(grant.state == State::suggested);
  REQUIRE(grant.granted_cores);
  CHECK(*grant.granted_cores > 0.5);
  CHECK(*grant.granted_cores < 0.8);
  CHECK(*grant.freed_cores == doctest::Approx(2 - *grant.granted_cores));
}

TEST_CASE("level limits sets a quota near usage, boosts during throttling, and never exceeds the original") {
  Node node;
  node.governor->orders().own({{"/a", Level::limits}});
  node.pass(20, 0.5);
  CHECK(node.grant().state == State::set);
  const auto calm = node.quota();
  CHECK(calm > 50'000);
  CHECK(calm < 80'000);
  CHECK(*parse_limit(node.tree.get("/a", Knob::burst_us)) <= calm);
  node.pass(0.3, 0.6, true);
  CHECK(node.quota() > calm * 5 / 4);
  node.pass(20, 1.99, true);
  CHECK(node.quota() <= 200'000);
  node.pass(60, 0.5);
  CHECK(node.quota() < 150'000);
  node.governor->orders().own({});
  node.pass(0.1, 0.5);
  CHECK(node.quota() == 200'000);
  CHECK(node.ledger->held() == 0);
}

TEST_CASE("from any margin, calm minutes lower it to a tenth below usage, and throttled ones raise it again") {
  for (const double first : {-0.1, 0.15, 0.5}) {
    INFO("margin ", first);
    Rules rules;
    rules.margin_ratio = first;
    Node node(rules);
    node.governor->orders().own({{"/a", Level::limits}});
    node.pass(20, 0.5);
    CHECK(static_cast<double>(node.quota()) == doctest::Approx(50'000 * (1 + first)).epsilon(0.01));
    node.pass(400, 0.5);
    const auto calm = node.quota();
    CHECK(calm >= 45'000);
    CHECK(calm <= 50'000);  // lowered once it is a tenth too high, and not earlier
    node.pass(125, 0.5, true);
    node.pass(5, 0.5);
    CHECK(node.quota() > calm * 5 / 4);
  }
}

TEST_CASE("known requests move the margin, throttled or not; without them throttling does") {
  const auto after_minutes = [](int minutes, bool throttled, const auto& requests_of) {
    Node node;
    for (int second = 0; second < 60 * minutes + 30; ++second) {
      node.governor->orders().receive(Orders{4.0, {{"/a", Level::limits, requests_of(second)}}}, node.now);
      node.pass(1, 0.5, throttled && second % 10 == 0);
    }
    node.governor->orders().receive(Orders{4.0, {{"/a", Level::limits, requests_of(60 * minutes + 30)}}}, node.now);
    node.pass(8, 0.5);
    return static_cast<double>(node.quota()) / 50'000 - 1;
  };
  using Known = std::optional<actuation::Requests>;
  const auto all_in_time = [](int second) { return Known({static_cast<std::uint64_t>(second) * 100, 0}); };
  const auto many_late = [](int second) {
    return Known({static_cast<std::uint64_t>(second) * 100, static_cast<std::uint64_t>(second) * 3});
  };
  const auto unknown = [](int) { return Known(); };
  // Lower than a minute ago, as after a restart: never known.
  const auto restarts = [](int second) { return Known({static_cast<std::uint64_t>(1'000'000 - second), 1000}); };
  const auto none_arrived = [](int) { return Known({500, 100}); };
  CHECK(after_minutes(4, false, many_late) > 0.8);  // 3% late: 0.27 per minute
  CHECK(after_minutes(4, true, many_late) > 0.8);
  CHECK(after_minutes(8, true, all_in_time) < 0.05);  // throttled in a tenth of the periods without waiting requests
  CHECK(after_minutes(8, true, unknown) > 0.8);
  CHECK(after_minutes(8, true, restarts) > 0.8);
  CHECK(after_minutes(8, false, restarts) < 0.05);
  CHECK(after_minutes(4, false, none_arrived) == doctest::Approx(0.15).epsilon(0.01));
}

TEST_CASE("in a calm second nothing is written") {
  Node node;
  node.governor->orders().own({{"/a", Level::limits}});
  node.pass(20, 0.5);
  const auto writes = node.ledger->writes();
  node.pass(30, 0.5);
  CHECK(node.ledger->writes() == writes);
}

TEST_CASE("boosts are bounded by what the node or the agent can give") {
  Node node;
  node.governor->orders().receive(Orders{0.0, {{"/a", Level::limits}}}, node.now);
  for (int i = 0; i < 20; ++i) {
    node.pass(1, 0.5);
    node.governor->orders().receive(Orders{0.0, {{"/a", Level::limits}}}, node.now);
  }
  const auto calm = node.quota();
  node.pass(0.5, 0.5, true);
  CHECK(node.quota() <= calm * 11 / 10);
}

TEST_CASE("a workload that waits for its own quota is boosted, but not while others wait for CPU") {
  const auto boosted = [](bool others_wait) {
    Node node;
    node.others_wait = others_wait;
    node.governor->orders().own({{"/a", Level::limits}});
    node.pass(20, 0.5);
    const auto calm = node.quota();
    node.pass(3, 0.55, true);
    return static_cast<double>(node.quota()) / static_cast<double>(calm);
  };
  CHECK(boosted(false) > 2);
  CHECK(boosted(true) < 1.2);
}

TEST_CASE("limits of a client that is silent for 10 s are restored") {
  Node node;
  node.governor->orders().receive(Orders{std::nullopt, {{"/a", Level::limits}}}, node.now);
  node.pass(5, 0.5);
  CHECK(node.quota() < 200'000);
  node.pass(5, 0.5);
  CHECK(node.quota() < 200'000);
  node.pass(0.2, 0.5);
  CHECK(node.quota() == 200'000);
  CHECK(node.governor->report().grants.empty());
}

TEST_CASE(
    "the configuration takes precedence over the agent, off is off, and of nested workloads the outer one counts") {
  Node node;
  node.governor->orders().own({{"/a", Level::off}});
  node.governor->orders().receive(
      Orders{std::nullopt, {{"/a", Level::limits}, {"/b", Level::suggest}, {"/b/c/", Level::limits}}}, node.now);
  node.pass(3, 0.5);
  const auto report = node.governor->report();
  REQUIRE(report.grants.size() == 1);
  CHECK(report.grants[0].path == "/b");
  CHECK(report.grants[0].state == State::unseen);
  CHECK(node.ledger->writes() == 0);
}

TEST_CASE("a foreign write is detected within about a second, reported, and left alone for a minute") {
  Node node;
  node.governor->orders().own({{"/a", Level::limits}});
  node.pass(10, 0.5);
  REQUIRE(node.tree.put("/a", Knob::quota_us, "120000"));
  node.pass(2, 0.5);
  CHECK(node.grant().state == State::hands_off);
  CHECK(node.governor->report().foreign == 1);
  CHECK(node.quota() == 120'000);
  node.pass(50, 0.5);
  CHECK(node.quota() == 120'000);
  node.pass(20, 0.5);
  CHECK(node.quota() < 120'000);
  node.governor->orders().own({});
  node.pass(0.1, 0.5);
  CHECK(node.quota() == 120'000);
}

TEST_CASE("a workload that ends and starts again is watched again") {
  Node node;
  node.governor->orders().own({{"/a", Level::limits}});
  node.pass(10, 0.5);
  node.tree.remove("/a");
  node.governor->tick(node.now += std::chrono::seconds(1));
  node.tree.add("/a", "90000", "0", "max");
  node.used_us = 0;
  node.pass(10, 0.5);
  CHECK(node.quota() < 90'000);
  CHECK(node.ledger->restore_all().failed.empty());
  CHECK(node.quota() == 90'000);
}

TEST_CASE("a period other than the rule's is reported, and no limit is set") {
  Node node;
  REQUIRE(node.tree.put("/a", Knob::quota_us, "20000 50000"));
  node.governor->orders().own({{"/a", Level::limits}});
  node.pass(5, 0.1);
  CHECK(node.grant().state == State::trouble);
  CHECK(node.ledger->writes() == 0);
  CHECK_FALSE(node.governor->take_troubles().empty());
}
