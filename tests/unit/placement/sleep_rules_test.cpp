// sleep_rules, transition_cost, demand_outlook, sleep_ledger, drain: each rule alone.
#include "placement/sleep/sleep_rules.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>

#include "placement/sleep/demand_outlook.hpp"
#include "placement/sleep/drain.hpp"
#include "placement/sleep/sleep_ledger.hpp"
#include "placement/sleep/transition_cost.hpp"

namespace wattle::placement::sleep {
namespace {

constexpr std::int64_t kDay_s = 86'400;
const WallTime kMidnight = wall_from_ns(20'000 * kDay_s * 1'000'000'000);

WallTime at(double s) { return kMidnight + from_seconds(s); }

SleepFacts willing() {
  SleepFacts facts;
  facts.mode = SleepMode::automatic;
  facts.can_sleep = facts.can_wake = true;
  return facts;
}

NodePowerRecord proven() {
  NodePowerRecord record;
  record.state = PowerState::awake;
  record.round_trips = 3;
  return record;
}

TEST_CASE("a willing and proven node may sleep, and each rule alone excludes it with a reason") {
  const SleepRules rules;
  CHECK_FALSE(excluded_alone(willing(), proven(), kMidnight, rules, false));
  struct Row {
    ExcludedFor cause;
    std::function<void(SleepFacts&, NodePowerRecord&)> change;
  };
  const std::vector<Row> rows{
      {ExcludedFor::mode_off, [](SleepFacts& facts, NodePowerRecord&) { facts.mode = SleepMode::off; }},
      {ExcludedFor::only_recommended, [](SleepFacts& facts, NodePowerRecord&) { facts.mode = SleepMode::recommend; }},
      {ExcludedFor::unproven, [](SleepFacts&, NodePowerRecord& record) { record.round_trips = 2; }},
      {ExcludedFor::state, [](SleepFacts&, NodePowerRecord& record) { record.state = PowerState::blocked; }},
      {ExcludedFor::state, [](SleepFacts&, NodePowerRecord& record) { record.marked = true; }},
      {ExcludedFor::no_driver, [](SleepFacts& facts, NodePowerRecord&) { facts.can_sleep = false; }},
      {ExcludedFor::no_wake, [](SleepFacts& facts, NodePowerRecord&) { facts.can_wake = false; }},
      {ExcludedFor::operator_, [](SleepFacts& facts, NodePowerRecord&) { facts.excluded_by = "repair"; }},
      {ExcludedFor::other_drain, [](SleepFacts& facts, NodePowerRecord&) { facts.held_by = "it is cordoned"; }},
      {ExcludedFor::control_plane, [](SleepFacts& facts, NodePowerRecord&) { facts.control_plane = true; }},
      {ExcludedFor::controller, [](SleepFacts& facts, NodePowerRecord&) { facts.runs_controller = true; }},
      {ExcludedFor::scheduler, [](SleepFacts& facts, NodePowerRecord&) { facts.runs_scheduler = true; }},
      {ExcludedFor::local_volume, [](SleepFacts& facts, NodePowerRecord&) { facts.local_volume_pod = "db-0"; }},
      {ExcludedFor::bare_pod, [](SleepFacts& facts, NodePowerRecord&) { facts.bare_pod = "debug"; }},
      {ExcludedFor::undisruptable_pod, [](SleepFacts& facts, NodePowerRecord&) { facts.undisruptable_pod = "job"; }},
      {ExcludedFor::constrained_pod, [](SleepFacts& facts, NodePowerRecord&) { facts.constrained_pod = "gpu-1"; }},
      {ExcludedFor::budget, [](SleepFacts& facts, NodePowerRecord&) { facts.unsatisfied_budget = "web"; }},
      {ExcludedFor::inhibitor, [](SleepFacts& facts, NodePowerRecord&) { facts.inhibitor = "apt"; }},
      {ExcludedFor::woken_recently, [](SleepFacts&, NodePowerRecord& record) { record.last_woken = at(-60); }},
      {ExcludedFor::cycles,
       [](SleepFacts&, NodePowerRecord& record) {
         record.day = day_of(kMidnight);
         record.cycles_today = 6;
       }},
  };
  for (const Row& row : rows) {
    SleepFacts facts = willing();
    NodePowerRecord record = proven();
    row.change(facts, record);
    const Exclusion why = excluded_alone(facts, record, kMidnight, rules, false);
    CAPTURE(to_string(row.cause));
    CHECK(why.cause == row.cause);
    CHECK(why.reason.size() > 10);
    const bool acts_only = row.cause == ExcludedFor::only_recommended || row.cause == ExcludedFor::unproven;
    CHECK(static_cast<bool>(excluded_alone(facts, record, kMidnight, rules, true)) == !acts_only);
  }
}

TEST_CASE("a node rests after a wake for which it was needed, and not after a test of its round trip") {
  const SleepRules rules;
  NodePowerRecord record = proven();
  record.last_woken = at(-60);
  CHECK(excluded_alone(willing(), record, kMidnight, rules, false).cause == ExcludedFor::woken_recently);
  record.test = true;
  CHECK_FALSE(excluded_alone(willing(), record, kMidnight, rules, false));
}

TEST_CASE("the last awake node of a zone and of a device class stays awake") {
  SleepFacts gpu = willing(), plain = willing();
  gpu.zone = plain.zone = "a";
  gpu.device_class = "gpu";
  LastOfKind kinds;
  kinds.add(gpu, 1);
  kinds.add(plain, 1);
  CHECK(kinds.excluded(gpu).cause == ExcludedFor::last_of_class);
  CHECK_FALSE(kinds.excluded(plain));
  kinds.add(gpu, -1);
  CHECK(kinds.excluded(plain).cause == ExcludedFor::last_of_zone);
  CHECK_FALSE(kinds.excluded(willing()));
}

TEST_CASE("the spare is the largest of count, share, largest pending pod and the fullest awake node") {
  Fleet fleet;
  for (const double requested : {1.0, 6.0, 8.0}) {
    FleetNode node;
    node.allocatable = {10, 100};
    node.requested = {requested, 10 * requested};
    fleet.nodes.push_back(node);
  }
  const std::vector<char> awake{1, 1, 0};  // the fullest one sleeps, and does not count
  SleepRules rules;
  rules.spare_ratio = 0.25;
  CHECK(spare_needed(fleet, awake, {}, std::nullopt, rules).cpu_cores == 5);
  CHECK(spare_needed(fleet, awake, {7, 0}, std::nullopt, rules).cpu_cores == 7);
  CHECK(spare_needed(fleet, awake, {}, Resources{0, 0}, rules).cpu_cores == 6);
  CHECK(spare_needed(fleet, awake, {}, Resources{0, 0}, rules).memory_bytes == 60);
  CHECK(spare_needed(fleet, awake, {}, Resources{4, 0}, rules).cpu_cores == 5);  // sleeping nodes cover the rest
  rules.survive_node_loss = false;
  CHECK(spare_needed(fleet, awake, {}, Resources{0, 0}, rules).cpu_cores == 5);
  rules.spare_nodes = 1;
  CHECK(spare_needed(fleet, awake, {}, std::nullopt, rules).cpu_cores == 10);
  rules.spare_nodes = 5;  // more than there are
  CHECK(spare_needed(fleet, awake, {}, std::nullopt, rules).cpu_cores == 20);
}

TEST_CASE("published transitions of a server with 95 W idle break even after 212 s") {
  const TransitionCost cost = usual_cost(Depth::off, 95);
  CHECK(break_even_s(cost, 95) == doctest::Approx(212.4).epsilon(0.001));
  CHECK(saved_j(cost, 95, break_even_s(cost, 95)) == doctest::Approx(0).scale(95));
  CHECK(std::isinf(break_even_s(cost, 9)));
  NodePowerRecord record;
  record.depth = Depth::off;
  record.measured.wake_s = 300;
  CHECK(cost_of(record, Depth::off, 95).wake_s == 300);
  CHECK(cost_of(record, Depth::off, 95).sleep_j == 620);
  CHECK(cost_of(record, Depth::suspend, 95).wake_s == 5);
}

TEST_CASE("a longer gap saves more, and a sleep shorter than the break-even costs energy") {
  CHECK(rc::check([] {
    const double idle_w = *rc::gen::inRange(20, 400);
    const TransitionCost cost = usual_cost(*rc::gen::element(Depth::suspend, Depth::off), idle_w);
    const double even_s = break_even_s(cost, idle_w);
    const double gap_s = even_s * (1 + 0.01 * *rc::gen::inRange(1, 1000));
    RC_ASSERT(saved_j(cost, idle_w, gap_s) > saved_j(cost, idle_w, even_s));
    RC_ASSERT(saved_j(cost, idle_w, even_s) >= -1e-6);
  }));
}

TEST_CASE("the recent demand is the maximum and the mean of the last minutes, in steps") {
  DemandOutlook outlook;
  outlook.observe(10, at(0));
  outlook.observe(30, at(600));
  outlook.observe(20, at(900));
  CHECK(outlook.highest(at(1200), std::chrono::minutes(40)) == 30);
  CHECK(outlook.highest(at(1200), std::chrono::minutes(5)) == 20);
  CHECK(outlook.highest(at(1199), std::chrono::minutes(5)) == 30);
  CHECK(outlook.mean(at(1200), std::chrono::minutes(10)) == doctest::Approx(25));
  outlook.observe(std::nan(""), at(1200));
  outlook.observe(-1, at(1200));
  CHECK(outlook.highest(at(1300), std::chrono::minutes(5)) == 20);
  CHECK_FALSE(outlook.expected(at(1200), at(3600)));
}

// Eight cores, and forty between nine and ten.
void play_day(DemandOutlook& outlook, int day, bool burst = true) {
  for (int minute = 0; minute < 1440; ++minute)
    outlook.observe(burst && minute / 60 == 9 ? 40 : 8, at(kDay_s * day + 60.0 * minute));
}

TEST_CASE("an outlook expects the median of a time of day, so a weekend does not hide the peak of working days") {
  DemandOutlook outlook;
  for (int day = 0; day < 7; ++day) play_day(outlook, day, day < 5);
  CHECK(outlook.expected(at(kDay_s * 7 + 3600 * 9), at(kDay_s * 7 + 3600 * 9.5)).value() == 40);
  DemandOutlook two;
  play_day(two, 0);
  play_day(two, 1, false);
  CHECK(two.expected(at(kDay_s * 2 + 3600 * 9), at(kDay_s * 2 + 3600 * 9.5)).value() == 24);
}

TEST_CASE("a peak at a time of day is expected on the next day, and a single odd day of four is not") {
  DemandOutlook outlook;
  play_day(outlook, 0);
  const auto tomorrow = [](int day, double hours) { return at(kDay_s * day + 3600 * hours); };
  CHECK(outlook.expected(tomorrow(1, 8), tomorrow(1, 8.9)).value() == 8);
  CHECK(outlook.expected(tomorrow(1, 8), tomorrow(1, 9.5)).value() == 40);
  CHECK(outlook.first_above(20, tomorrow(1, 0), std::chrono::hours(24)) == tomorrow(1, 9));
  CHECK(outlook.first_above(40, tomorrow(1, 0), std::chrono::hours(24)) == tomorrow(2, 0));
  CHECK(outlook.first_above(20, tomorrow(1, 9.5), std::chrono::hours(1)) == tomorrow(1, 9.5));
  for (int day = 1; day < 4; ++day) play_day(outlook, day, false);
  CHECK(outlook.expected(tomorrow(4, 9), tomorrow(4, 9.5)).value() == 8);
  CHECK_FALSE(outlook.expected(tomorrow(12, 9), tomorrow(12, 9.5)));
}

TEST_CASE("an outlook survives a restart, and a truncated one is refused") {
  DemandOutlook outlook, read;
  play_day(outlook, 0);
  PackWriter out;
  outlook.pack(out);
  const std::string bytes = out.take();
  PackReader in(bytes);
  read.unpack(in);
  REQUIRE(in.done());
  CHECK(read.expected(at(kDay_s), at(kDay_s + 40'000)) == outlook.expected(at(kDay_s), at(kDay_s + 40'000)));
  CHECK(read.highest(at(kDay_s), std::chrono::minutes(40)) == 8);
  PackReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  read.unpack(cut);
  CHECK_FALSE(cut.ok());
  CHECK(read.expected(at(kDay_s), at(kDay_s + 40'000)) == outlook.expected(at(kDay_s), at(kDay_s + 40'000)));
}

TEST_CASE("the hourly share limits all moves, and pods and owners rest after one") {
  SleepLedger ledger;
  const MoveLimits limits;
  CHECK(ledger.moves_left(100, at(0), limits) == 2);
  CHECK(ledger.moves_left(3, at(0), limits) == 1);
  ledger.moved("a", "web", at(0));
  CHECK(ledger.moves_left(100, at(0), limits) == 1);
  CHECK(ledger.moves_left(100, at(3600), limits) == 2);
  CHECK(ledger.rests("a", "", at(kDay_s - 1), limits));
  CHECK_FALSE(ledger.rests("a", "web", at(kDay_s), limits));
  CHECK(ledger.rests("b", "web", at(599), limits));
  CHECK_FALSE(ledger.rests("b", "web", at(600), limits));
  ledger.replaced_by("c", at(0));
  CHECK(ledger.rests("c", "", at(700), limits));
  PackWriter out;
  ledger.pack(out);
  const std::string bytes = out.take();
  SleepLedger read;
  PackReader in(bytes);
  read.unpack(in);
  REQUIRE(in.done());
  CHECK(read.rests("a", "", at(kDay_s - 1), limits));
  CHECK(read.moves_left(100, at(0), limits) == 1);
  read.forget_before(at(1));
  CHECK_FALSE(read.rests("a", "", at(2), limits));
}

std::vector<Move> three_moves() {
  return {{"a", "d/a", "web", "n2", {1, 0}}, {"b", "d/b", "db", "n2", {1, 0}}, {"c", "d/c", "web", "n3", {1, 0}}};
}

std::vector<std::string> names(const std::vector<Move>& moves) {
  std::vector<std::string> all;
  for (const Move& move : moves) all.push_back(move.pod);
  return all;
}

TEST_CASE("a drain moves a few pods at once, one per owner, and ends when all have landed or ended") {
  SleepLedger ledger;
  MoveLimits limits;
  Drain drain("n1", three_moves());
  CHECK(names(drain.next(1000, at(0), limits, ledger)) == std::vector<std::string>{"a", "b"});
  CHECK(drain.next(1000, at(1), limits, ledger).empty());
  drain.landed("web", "n2");
  CHECK(drain.next(1000, at(2), limits, ledger).empty());  // web rests
  CHECK(names(drain.reserved()) == std::vector<std::string>{"b", "c"});
  drain.refused("b", ledger);
  CHECK(names(drain.next(1000, at(700), limits, ledger)) == std::vector<std::string>{"b", "c"});
  drain.landed("db", "n2");
  CHECK_FALSE(drain.done());
  drain.landed("web", "n3");
  CHECK(drain.done());
  CHECK(drain.misplaced() == 0);
  CHECK_FALSE(drain.stopped(at(800), limits));
}

TEST_CASE("a drain stops after two misplaced pods, after a pod that does not start, and after a new pod") {
  const MoveLimits limits;
  SleepLedger ledger;
  Drain misplaced("n1", three_moves());
  CHECK(misplaced.next(1000, at(0), limits, ledger).size() == 2);
  misplaced.landed("web", "n9");
  CHECK_FALSE(misplaced.stopped(at(1), limits));
  misplaced.landed("db", "n9");
  CHECK(misplaced.stopped(at(1), limits).value().find("2 pods") == 0);
  CHECK(misplaced.next(1000, at(700), limits, ledger).empty());

  SleepLedger fresh;
  Drain slow("n1", three_moves());
  CHECK(slow.next(1000, at(0), limits, fresh).size() == 2);
  CHECK_FALSE(slow.stopped(at(599), limits));
  CHECK(slow.stopped(at(600), limits).value().find("d/a") != std::string::npos);

  Drain visited("n1", three_moves());
  visited.arrived("d/x");
  CHECK(visited.stopped(at(0), limits).value().find("d/x") != std::string::npos);
  Drain ended("n1", three_moves());
  for (const char* pod : {"a", "b", "c", "unknown"}) ended.ended(pod);
  CHECK(ended.done());
}

}  // namespace
}  // namespace wattle::placement::sleep
