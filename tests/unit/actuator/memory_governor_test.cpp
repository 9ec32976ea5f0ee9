// memory.high as the governor sets it, on a tree that behaves as the kernel's memory controller does (mm/memcontrol.c):
// a write of memory.high below usage removes file pages at once without an event; an allocation beyond it is reclaimed,
// stalls its task if nothing is reclaimable, and counts as a high event either way.
#include <doctest/doctest.h>

#include <algorithm>

#include "actuator/governor.hpp"
#include "common/parse.hpp"
#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;
using actuation::Level;

namespace {
constexpr std::int64_t kMiB = 1 << 20;

struct MemoryNode {
  explicit MemoryNode(Level level) : limits(tree.mounts(), os) {
    tree.add("/a", "200000", "0", "max");
    for (const char* kept : {"memory.max", "memory.min"}) overwrite(tree.root() + "/a/" + kept, "untouched");
    overwrite(tree.path() + "/proc/stat", "cpu 0 0 0 4000 0 0 0 0 0 0\n");
    show();
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), limits);
    auto load = NodeLoad::open_(tree.path() + "/proc", 4);
    REQUIRE(load);
    governor.emplace(limits, limits, *ledger, std::move(*load), Rules{});
    governor->orders().own({{"/a", level}});
  }
  // Absent: no limit.
  std::optional<std::int64_t> high() const { return parse::integer<std::int64_t>(tree.get("/a", Knob::high_bytes)); }
  void show() const {
    const std::string at = tree.root() + "/a/";
    overwrite(at + "cpu.stat", "usage_usec " + std::to_string(used_us) + "\nnr_periods 0\nnr_throttled 0\n");
    overwrite(at + "memory.current", std::to_string(anon + cache) + "\n");
    overwrite(at + "memory.stat",
              "inactive_file " + std::to_string(cache) + "\nworkingset_refault_anon 0\nworkingset_refault_file 0\n");
    overwrite(at + "memory.events", "low 0\nhigh " + std::to_string(events) + "\nmax 0\n");
    overwrite(at + "memory.pressure", "some avg10=0 avg60=0 avg300=0 total=" + std::to_string(stall_us) + "\n");
  }
  void reclaim(bool allocated) {
    const auto limit = high();
    if (!limit || anon + cache <= *limit) return;
    cache = std::max<std::int64_t>(0, *limit - anon);
    if (!allocated) return;
    ++events;
    if (anon > *limit) stall_us += 500'000;
  }
  void pass(Duration span, std::int64_t cache_growth = 0) {
    for (const MonoTime until = now + span; now < until;) {
      now += std::chrono::seconds(1);
      used_us += 200'000;
      cache += cache_growth;
      reclaim(cache_growth > 0);
      show();
      const auto before = high();
      governor->tick(now);
      reclaim(false);
      show();
      const auto after = high();
      if (before && after)
        least_step = std::min(least_step, static_cast<double>(*after) / static_cast<double>(*before));
      if (after) seconds_limited += 1;
    }
  }
  bool others_untouched() const {
    return text_of(tree.root() + "/a/memory.max") == "untouched" &&
           text_of(tree.root() + "/a/memory.min") == "untouched";
  }

  KernelTree tree;
  KernelOs os;
  CgroupLimits limits;
  std::optional<Ledger> ledger;
  std::optional<Governor> governor;
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0, events = 0, stall_us = 0;
  std::int64_t anon = 400 * kMiB, cache = 600 * kMiB;
  double least_step = 1;
  int seconds_limited = 0;
};
}  // namespace

TEST_CASE("unused pages are reclaimed in steps of 5% a minute without a stall, and the end restores no limit at all") {
  MemoryNode node(Level::limits);
  node.pass(std::chrono::minutes(9));
  CHECK_FALSE(node.high());
  node.pass(std::chrono::minutes(40));
  REQUIRE(node.high());
  CHECK(*node.high() == doctest::Approx(460.0 * kMiB).epsilon(0.001));
  CHECK(node.least_step >= 0.9499);
  CHECK(node.cache == doctest::Approx(60.0 * kMiB).epsilon(0.01));
  CHECK(node.events == 0);
  CHECK(node.stall_us == 0);
  CHECK(node.ledger->restore_all().put_back > 0);
  CHECK(node.tree.get("/a", Knob::high_bytes) == "max");
  CHECK(node.others_untouched());
}

TEST_CASE("a workload that needs more is released within seconds of the first event, and left alone for ten minutes") {
  MemoryNode node(Level::limits);
  node.pass(std::chrono::minutes(45));
  REQUIRE(node.high());
  node.anon = 800 * kMiB;
  node.pass(std::chrono::seconds(6), 1);
  CHECK_FALSE(node.high());
  CHECK(node.stall_us > 0);
  const auto stalled_us = node.stall_us;
  node.seconds_limited = 0;
  node.pass(std::chrono::minutes(9));
  CHECK(node.seconds_limited == 0);
  CHECK(node.stall_us == stalled_us);
  node.pass(std::chrono::minutes(40));
  REQUIRE(node.high());
  CHECK(*node.high() >= 800 * kMiB);
}

namespace {
// An agent that reports memory and forwards the controller's margin.
struct Steered : MemoryNode {
  Steered() : MemoryNode(Level::limits) { governor->orders().own({}); }
  void minute(std::optional<double> memory_ratio, bool reads = true) {
    for (int second = 0; second < 60; ++second) {
      actuation::Orders orders{std::nullopt, {{"/a", Level::limits}}};
      orders.memory = reads;
      if (memory_ratio && last.number > 0) orders.orders[0].step = {last.number, 0.1, memory_ratio};
      governor->orders().receive(orders, now);
      pass(std::chrono::seconds(1));
      const auto report = governor->report();
      if (report.grants[0].minute) last = *report.grants[0].minute;
    }
  }
  double margin() const { return last.memory->margin_ratio.value(); }
  actuation::Minute last;
};
}  // namespace

TEST_CASE("a controller's memory margin moves a rung a minute within bounds; when it is silent the rule applies") {
  Steered node;
  for (int i = 0; i < 5; ++i) node.minute(0.6);
  REQUIRE(node.last.memory);
  CHECK_FALSE(node.last.memory->margin_ratio);  // nothing is limited in the first ten minutes
  CHECK(node.last.memory->granted_bytes == static_cast<std::uint64_t>(1000 * kMiB));
  CHECK(node.last.memory->used_bytes == static_cast<std::uint64_t>(400 * kMiB));
  for (int i = 0; i < 40; ++i) node.minute(std::nullopt);
  REQUIRE(node.high());
  CHECK(node.margin() == 0.15);
  CHECK(*node.high() == doctest::Approx(460.0 * kMiB).epsilon(0.001));
  node.minute(0.6);
  node.minute(0.6);
  CHECK(node.margin() == doctest::Approx(1.15 * 1.05 - 1));
  for (int i = 0; i < 12; ++i) node.minute(5);
  CHECK(node.margin() == doctest::Approx(0.6));
  CHECK(*node.high() == doctest::Approx(640.0 * kMiB).epsilon(0.001));
  for (int i = 0; i < 40; ++i) node.minute(-0.9);
  CHECK(node.margin() == 0);
  CHECK(*node.high() >= node.anon);
  CHECK(node.stall_us == 0);
  // No memory margin arrives any more: an older controller, or none.
  node.minute(std::nullopt);
  node.minute(std::nullopt);
  CHECK(node.margin() == 0.15);
  CHECK(*node.high() == doctest::Approx(460.0 * kMiB).epsilon(0.001));
}

TEST_CASE("pressure releases memory under rule and teacher alike, and afterwards the rule's margin applies") {
  Steered node;
  for (int i = 0; i < 40; ++i) node.minute(0);
  REQUIRE(node.high());
  CHECK(node.margin() == 0);
  node.stall_us += 200'000;
  node.minute(0);
  CHECK_FALSE(node.high());
  CHECK(node.last.memory->short_ratio > 0);
  CHECK_FALSE(node.last.memory->margin_ratio);
  for (int i = 0; i < 9; ++i) node.minute(0);
  CHECK_FALSE(node.high());
  for (int i = 0; i < 3; ++i) node.minute(std::nullopt);
  REQUIRE(node.high());
  CHECK(node.margin() == 0.15);
}

TEST_CASE("memory's margin never exceeds the original, and an agent that does not read memory fields gets none") {
  Steered node;
  REQUIRE(node.tree.put("/a", Knob::high_bytes, std::to_string(500 * kMiB)));
  for (int i = 0; i < 60; ++i) node.minute(0.6);
  CHECK(node.margin() == doctest::Approx(0.6));  // of the working set, which would be more
  CHECK(*node.high() == 500 * kMiB);
  CHECK(node.last.memory->granted_bytes == static_cast<std::uint64_t>(500 * kMiB));
  for (int i = 0; i < 8; ++i) node.minute(0.1);
  CHECK(*node.high() < 500 * kMiB);
  node.minute(std::nullopt, false);
  CHECK_FALSE(node.last.memory);
}

TEST_CASE("a service whose file pages grow is limited for seconds at a time: each high event releases it") {
  MemoryNode node(Level::limits);
  node.pass(std::chrono::minutes(60), kMiB);
  CHECK(node.events > 0);
  CHECK(node.seconds_limited < 60);
  CHECK(node.stall_us == 0);
}

TEST_CASE("at level suggest memory.high is reported and not written") {
  MemoryNode node(Level::suggest);
  node.pass(std::chrono::minutes(30));
  CHECK_FALSE(node.high());
  CHECK(node.ledger->writes() == 0);
  const auto report = node.governor->report();
  REQUIRE(report.grants.size() == 1);
  CHECK(report.grants[0].high_bytes.has_value());
}
