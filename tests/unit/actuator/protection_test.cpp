// protection: memory.low as rule and governor set it, on files of a tree that has ancestors.
#include <doctest/doctest.h>

#include <algorithm>

#include "actuator/governor.hpp"
#include "actuator/unit_limits.hpp"
#include "fake_systemd.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;
using actuation::Level;
using actuation::State;

namespace {
constexpr std::int64_t kMebibyte = 1 << 20;
const std::string kDatabase = "/jobs.slice/db.service";

struct ProtectedNode {
  explicit ProtectedNode(Level level, std::int64_t most_bytes = kUnlimited) : limits(tree.mounts(), os) {
    tree.add("/jobs.slice", "max", "0", "max");
    tree.add(kDatabase, "200000", "0", "max");
    put(Knob::low_bytes, "/jobs.slice", "max");
    overwrite(tree.path() + "/proc/stat", "cpu 0 0 0 4000 0 0 0 0 0 0\n");
    show(kDatabase, 400 * kMebibyte);
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), limits);
    auto load = NodeLoad::open_(tree.path() + "/proc", 4);
    REQUIRE(load);
    Rules rules;
    rules.most_protected_bytes = most_bytes;
    governor.emplace(limits, limits, *ledger, std::move(*load), rules);
    governor->orders().own({{kDatabase, level}});
  }
  void put(Knob knob, const std::string& cgroup, const std::string& text) const {
    REQUIRE(tree.put(cgroup, knob, text));
  }
  void show(const std::string& cgroup, std::int64_t working_set, std::uint64_t low_events = 0) const {
    const std::string at = tree.root() + cgroup + "/";
    overwrite(at + "cpu.stat", "usage_usec " + std::to_string(used_us) + "\n");
    overwrite(at + "memory.current", std::to_string(working_set + 600 * kMebibyte) + "\n");
    overwrite(at + "memory.stat", "inactive_file " + std::to_string(600 * kMebibyte) + "\n");
    overwrite(at + "memory.events", "low " + std::to_string(low_events) + "\nhigh 0\nmax 0\n");
  }
  std::int64_t low(const std::string& cgroup = kDatabase) const {
    return *parse_limit(tree.get(cgroup, Knob::low_bytes));
  }
  void pass(Duration span) {
    for (const MonoTime until = now + span; now < until;) {
      now += std::chrono::seconds(1);
      used_us += 200'000;
      const auto before = low();
      governor->tick(now);
      most_step = std::max(most_step, low() - before);
      least_step = std::min(least_step, low() - before);
    }
  }
  actuation::Grant grant(std::size_t i = 0) const { return governor->report().grants.at(i); }

  KernelTree tree;
  KernelOs os;
  CgroupLimits limits;
  std::optional<Ledger> ledger;
  std::optional<Governor> governor;
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0;
  std::int64_t most_step = 0, least_step = 0;
};
}  // namespace

TEST_CASE("protection rises to the working set by a fifth a minute, follows it down by 5%, and ends at the original") {
  ProtectedNode node(Level::protect);
  node.put(Knob::low_bytes, kDatabase, std::to_string(4 * kMebibyte));
  node.pass(std::chrono::seconds(55));
  CHECK(node.low() == 4 * kMebibyte);
  node.pass(std::chrono::minutes(8));
  CHECK(node.low() == 400 * kMebibyte);
  CHECK(node.most_step <= 80 * kMebibyte);
  CHECK(node.grant().state == State::set);
  CHECK(node.grant().low == actuation::Protection{400 * kMebibyte, 400 * kMebibyte});
  CHECK(node.ledger->writes() <= 6);
  // The level does not change CPU quota and memory.high.
  CHECK(node.tree.get(kDatabase, Knob::quota_us) == "200000 100000");
  CHECK(node.tree.get(kDatabase, Knob::high_bytes) == "max");
  CHECK_FALSE(node.grant().granted_cores);
  node.show(kDatabase, 100 * kMebibyte);
  node.pass(std::chrono::minutes(100));
  CHECK(static_cast<double>(node.low()) == doctest::Approx(100.0 * kMebibyte).epsilon(0.021));
  CHECK(node.least_step >= -20 * kMebibyte - 4096);
  SUBCASE("by an order that ends") { node.governor->orders().own({}); }
  SUBCASE("by another level") { node.governor->orders().own({{kDatabase, Level::suggest}}); }
  node.pass(std::chrono::seconds(1));
  CHECK(node.low() == 4 * kMebibyte);
  CHECK(node.ledger->held() == 0);
}

TEST_CASE("protection is never below the original, and its sum never above what the node allows") {
  ProtectedNode node(Level::protect, 500 * kMebibyte);
  node.tree.add("/jobs.slice/web.service", "max", "0", "max");
  node.show("/jobs.slice/web.service", 400 * kMebibyte);
  node.put(Knob::low_bytes, "/jobs.slice/web.service", std::to_string(64 * kMebibyte));
  node.governor->orders().own({{kDatabase, Level::protect}, {"/jobs.slice/web.service", Level::protect}});
  node.pass(std::chrono::minutes(30));
  CHECK(node.low() + node.low("/jobs.slice/web.service") <= 500 * kMebibyte + 2 * 4096);
  CHECK(node.low() + node.low("/jobs.slice/web.service") >= 490 * kMebibyte);
  node.show("/jobs.slice/web.service", 10 * kMebibyte);
  node.pass(std::chrono::hours(3));
  CHECK(node.low("/jobs.slice/web.service") == 64 * kMebibyte);
  CHECK(static_cast<double>(node.low()) == doctest::Approx(400.0 * kMebibyte).epsilon(0.021));
}

TEST_CASE("an ancestor without protection is named once, and the report has the effective protection") {
  ProtectedNode node(Level::protect);
  node.put(Knob::low_bytes, "/jobs.slice", "0");
  node.pass(std::chrono::minutes(10));
  CHECK(node.low() == 400 * kMebibyte);  // still protected from other cgroups of that slice
  CHECK(node.grant().low == actuation::Protection{400 * kMebibyte, 0});
  const auto troubles = node.governor->take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0].subject == "/jobs.slice/memory.low");
  CHECK(troubles[0].what.find(kDatabase) != std::string::npos);
  CHECK_FALSE(troubles[0].fix.empty());
  node.put(Knob::low_bytes, "/jobs.slice", std::to_string(100 * kMebibyte));
  node.pass(std::chrono::seconds(6));
  CHECK(node.grant().low == actuation::Protection{400 * kMebibyte, 100 * kMebibyte});
  CHECK(node.governor->take_troubles().empty());
}

TEST_CASE("protection is lowered while the kernel breaks it") {
  ProtectedNode node(Level::protect);
  node.pass(std::chrono::minutes(8));
  REQUIRE(node.low() == 400 * kMebibyte);
  for (std::uint64_t event = 1; event < 5; ++event) {
    node.show(kDatabase, 400 * kMebibyte, event);
    node.pass(std::chrono::minutes(1));
  }
  CHECK(node.low() <= 330 * kMebibyte);
  CHECK(node.low() >= 320 * kMebibyte);
  node.pass(std::chrono::minutes(3));
  CHECK(node.low() == 400 * kMebibyte);
}

TEST_CASE("at level suggest the protection is reported, and not written") {
  ProtectedNode node(Level::suggest);
  node.pass(std::chrono::minutes(8));
  CHECK(node.low() == 0);
  CHECK(node.ledger->writes() == 0);
  CHECK(node.grant().low == actuation::Protection{400 * kMebibyte, 400 * kMebibyte});
  CHECK(node.governor->take_troubles().empty());
}

TEST_CASE("protection that another writer sets stays") {
  ProtectedNode node(Level::protect);
  node.pass(std::chrono::minutes(8));
  node.put(Knob::low_bytes, kDatabase, std::to_string(7 * kMebibyte));
  node.pass(std::chrono::seconds(3));
  CHECK(node.low() == 7 * kMebibyte);
  CHECK(node.grant().state == State::hands_off);
  CHECK(node.ledger->held() == 0);
}

TEST_CASE("protection needs no CPU controller, and a missing memory controller is reported with a fix") {
  ProtectedNode node(Level::protect);
  std::filesystem::remove(node.tree.file(kDatabase, Knob::quota_us));
  std::filesystem::remove(node.tree.file(kDatabase, Knob::burst_us));
  node.pass(std::chrono::minutes(8));
  CHECK(node.low() == 400 * kMebibyte);
  ProtectedNode bare(Level::suggest);
  bare.pass(std::chrono::seconds(1));
  std::filesystem::remove(bare.tree.file(kDatabase, Knob::low_bytes));
  bare.governor->orders().own({{kDatabase, Level::protect}});
  for (int i = 0; i < 3; ++i) bare.governor->tick(bare.now += std::chrono::seconds(1));
  CHECK(bare.grant().state == State::trouble);
  const auto troubles = bare.governor->take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0].fix.find("+memory") != std::string::npos);
}

TEST_CASE("a unit's protection is set by systemd, and limits do not read it") {
  ProtectedNode node(Level::suggest);
  const FakeSystemd systemd(node.tree);
  FakeManager manager(systemd);
  systemd.add("a.service", kNoLimit, kNoLimit);
  UnitLimits limits(node.limits, &manager, systemd.control_dir());
  const auto target = limits.find(FakeSystemd::cgroup("a.service"));
  REQUIRE(target);
  REQUIRE(target->seam == Seam::unit);
  Ledger& ledger = *node.ledger;
  {
    auto journal = Journal::open_(node.tree.path() + "/unit-state", "boot-1", node.os);
    REQUIRE(journal);
    Ledger units(std::move(*journal), limits);
    Values wanted;
    wanted[Knob::low_bytes] = 40 * kMebibyte;
    CHECK(units.set(*target, wanted, node.now) == Outcome::done);
    CHECK(systemd.get("a.service", UnitProperty::low) == static_cast<std::uint64_t>(40 * kMebibyte));
    CHECK(node.low(FakeSystemd::cgroup("a.service")) == 40 * kMebibyte);
    CHECK(std::filesystem::exists(systemd.drop_in("a.service", UnitProperty::low)));
    CHECK(units.restore_all().failed.empty());
    CHECK(systemd.get("a.service", UnitProperty::low) == 0);
    CHECK_FALSE(std::filesystem::exists(systemd.drop_in("a.service", UnitProperty::low)));
    // A slice's DefaultMemoryLow: systemd reports 0, and the kernel has more.
    node.put(Knob::low_bytes, FakeSystemd::cgroup("a.service"), std::to_string(9 * kMebibyte));
    wanted = {};
    wanted[Knob::quota_us] = 50'000;
    CHECK(units.set(*target, wanted, node.now) == Outcome::done);
    CHECK(units.restore_all().failed.empty());
    wanted = {};
    wanted[Knob::low_bytes] = 40 * kMebibyte;
    const auto refused = units.set(*target, wanted, node.now);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fix.find("DefaultMemoryLow") != std::string::npos);
  }
  CHECK(ledger.held() == 0);
}
