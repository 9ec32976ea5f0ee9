// power_machine: every reachable record with every event, every observation after a restart, and every limit.
#include "placement/sleep/power_machine.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "placement/sleep/transition_cost.hpp"

namespace wattle::placement::sleep {
namespace {

using Kind = PowerEvent::Kind;

const WallTime kNow = wall_from_ns(1'800'000'000'000'000'000);
const PowerLimits kLimits;

NodePowerRecord awake_node(bool observable = true) {
  NodePowerRecord record;
  record.node = "n1";
  record.state = PowerState::awake;
  record.since = kNow;
  record.observable = observable;
  return record;
}

std::vector<PowerEvent> events_for(const NodePowerRecord& record) {
  std::vector<PowerEvent> events;
  for (std::size_t kind = 0; kind < kPowerEvents; ++kind) {
    for (const std::uint64_t operation : {record.operation, record.operation + 7}) {
      PowerEvent event{static_cast<Kind>(kind), operation};
      event.reason = "why";
      if (event.kind != Kind::observed) {
        events.push_back(event);
        continue;
      }
      for (const Observed observed : kObservations) {
        event.observed = observed;
        events.push_back(event);
      }
    }
  }
  return events;
}

// Reduces a record to the values that transitions read, so that there are few distinct ones.
NodePowerRecord canonical(NodePowerRecord record) {
  record.since = kNow;
  if (record.ordered) record.ordered = kNow;
  record.last_slept = record.last_woken = std::nullopt;
  record.measured = record.other.measured = {};
  record.reason.clear();
  record.operation = 5;
  record.day = 0;
  record.cycles_today = record.round_trips = 0;
  record.failures = std::min(record.failures, kLimits.failures_to_block);
  return record;
}

std::string key(const NodePowerRecord& record) {
  PackWriter out;
  record.pack(out);
  return out.take();
}

// All records that are reachable by any events at any time, including restarts.
const std::vector<NodePowerRecord>& reachable() {
  static const std::vector<NodePowerRecord> kAll = [] {
    std::map<std::string, NodePowerRecord> seen;
    std::deque<NodePowerRecord> open;
    const auto visit = [&](const NodePowerRecord& record) {
      const NodePowerRecord plain = canonical(record);
      if (seen.emplace(key(plain), plain).second) open.push_back(plain);
    };
    visit(awake_node(true));
    visit(awake_node(false));
    NodePowerRecord strange;
    strange.node = "n1";
    visit(strange);
    while (!open.empty()) {
      const NodePowerRecord record = open.front();
      open.pop_front();
      for (const PowerEvent& event : events_for(record)) {
        visit(step(record, event, kNow, kLimits).record);
        visit(step(record, event, kNow + std::chrono::hours(100), kLimits).record);
      }
      for (const Observed observed : kObservations) visit(recover(record, observed, kNow, kLimits).record);
    }
    std::vector<NodePowerRecord> all;
    for (auto& [text, record] : seen) all.push_back(std::move(record));
    return all;
  }();
  return kAll;
}

// Calls check(before, step, event or null) for every reachable record with every event, in time and late, and every
// restart.
template <class Check>
void for_all_steps(const Check& check) {
  for (const NodePowerRecord& record : reachable()) {
    for (const PowerEvent& event : events_for(record)) {
      check(record, step(record, event, kNow, kLimits), &event, Observed::unknown);
      check(record, step(record, event, kNow + std::chrono::hours(100), kLimits), &event, Observed::unknown);
    }
    for (const Observed observed : kObservations)
      check(record, recover(record, observed, kNow, kLimits), static_cast<const PowerEvent*>(nullptr), observed);
  }
}

PowerStep follow_events(NodePowerRecord record, const std::vector<PowerEvent>& events) {
  PowerStep last{record, PowerAction::none, false};
  for (PowerEvent event : events) {
    if (event.operation == 0) event.operation = last.record.operation;
    last = step(last.record, event, kNow, kLimits);
  }
  return last;
}

NodePowerRecord asleep_node(bool observable = true) {
  std::vector<PowerEvent> events{{Kind::chosen}, {Kind::marked}, {Kind::drained}, {Kind::goodbye}};
  if (observable) events.push_back({Kind::observed, 0, Observed::off});
  return follow_events(awake_node(observable), events).record;
}

TEST_CASE("a chosen node is marked, emptied, put to sleep and woken, and takes pods after its marks are removed") {
  PowerStep now = step(awake_node(), {Kind::chosen_drain, 0, Observed::unknown, Depth::off, "idle"}, kNow, kLimits);
  CHECK(now.record.state == PowerState::draining);
  CHECK(now.action == PowerAction::mark);
  now = step(now.record, {Kind::marked}, kNow, kLimits);
  CHECK(now.action == PowerAction::evict);
  now = step(now.record, {Kind::drained, now.record.operation}, kNow, kLimits);
  CHECK(now.record.state == PowerState::suspending);
  CHECK(now.action == PowerAction::sleep);
  CHECK(now.record.depth == Depth::off);
  now = step(now.record, {Kind::goodbye, now.record.operation}, kNow, kLimits);
  CHECK(now.action == PowerAction::observe);
  CHECK(now.record.state == PowerState::suspending);
  const WallTime off = kNow + std::chrono::seconds(6), wanted = kNow + std::chrono::hours(1);
  now = step(now.record, {Kind::observed, 0, Observed::off}, off, kLimits);
  CHECK(now.record.state == PowerState::asleep);
  CHECK_FALSE(now.record.presumed);
  CHECK(now.record.measured.sleep_s == 6.0);
  now = step(now.record, {Kind::wake_wanted}, wanted, kLimits);
  CHECK(now.action == PowerAction::wake);
  now = step(now.record, {Kind::agent_returned}, wanted + std::chrono::seconds(40), kLimits);
  CHECK(now.record.state == PowerState::probation);
  now = step(now.record, {Kind::ready}, wanted + std::chrono::seconds(50), kLimits);
  CHECK(now.record.state == PowerState::awake);
  CHECK(now.action == PowerAction::unmark);
  CHECK_FALSE(takes_pods(now.record));
  CHECK(now.record.measured.wake_s == 50.0);
  CHECK(now.record.round_trips == 1);
  now = step(now.record, {Kind::unmarked}, wanted, kLimits);
  CHECK(takes_pods(now.record));
}

TEST_CASE("a node that is chosen at another depth keeps the times and energy of each depth apart") {
  NodePowerRecord record = awake_node();
  record.depth = Depth::suspend;
  record.measured.wake_s = 5;
  record.wakes.add(500);
  PowerEvent chosen{Kind::chosen, 0, Observed::unknown, Depth::suspend, "idle"};
  CHECK(step(record, chosen, kNow, kLimits).record.measured.wake_s == 5.0);
  chosen.depth = Depth::off;
  NodePowerRecord deeper = step(record, chosen, kNow, kLimits).record;
  CHECK(deeper.measured == Transitions{});
  CHECK(deeper.wakes == MeteredTransitions{});
  CHECK(cost_of(deeper, Depth::suspend, 95).wake_s == 5);
  CHECK(cost_of(deeper, Depth::off, 95).wake_s == usual_cost(Depth::off, 95).wake_s);
  deeper.use_depth(Depth::suspend);
  CHECK(deeper.measured == record.measured);
  CHECK(deeper.wakes == record.wakes);
}

TEST_CASE("without a way to observe, a goodbye makes a node presumed asleep") {
  const NodePowerRecord record = asleep_node(false);
  CHECK(record.state == PowerState::asleep);
  CHECK(record.presumed);
  CHECK(recover(record, Observed::unknown, kNow, kLimits).record.state == PowerState::asleep);
}

TEST_CASE("a node is asleep only by our order, after its goodbye, and while it is marked") {
  REQUIRE(reachable().size() > 100);
  for_all_steps([](const NodePowerRecord& before, const PowerStep& after, const PowerEvent* event, Observed observed) {
    const NodePowerRecord& record = after.record;
    if (record.state != PowerState::asleep) return;
    REQUIRE(record.ours);
    REQUIRE(record.goodbye);
    REQUIRE(record.slept);
    REQUIRE(record.marked);
    if (before.state == PowerState::asleep) return;
    REQUIRE((before.state == PowerState::suspending || before.state == PowerState::unknown ||
             before.state == PowerState::probation));
    if (before.observable) {
      REQUIRE(before.goodbye);
      REQUIRE((event ? event->kind == Kind::observed && event->observed == Observed::off : observed == Observed::off));
      REQUIRE_FALSE(record.presumed);
    } else {
      REQUIRE((before.goodbye || (event && event->kind == Kind::goodbye && event->operation == before.operation)));
      if (event) REQUIRE((record.presumed || event->kind == Kind::observed));
    }
  });
}

TEST_CASE("only an empty, marked node gets a sleep order") {
  for_all_steps([](const NodePowerRecord& before, const PowerStep& after, const PowerEvent* event, Observed) {
    if (after.record.state != PowerState::suspending || before.state == PowerState::suspending) return;
    REQUIRE(after.record.marked);
    REQUIRE(event);
    if (event->kind == Kind::goodbye) {  // a late goodbye of an order that was reported as failed
      REQUIRE(before.state == PowerState::probation);
      REQUIRE(before.ours);
      return;
    }
    REQUIRE(event->kind == Kind::drained);
    REQUIRE(event->operation == before.operation);
    REQUIRE((before.state == PowerState::idle || before.state == PowerState::draining));
  });
}

TEST_CASE("a failed node gets no marks, and loses existing ones") {
  for_all_steps([](const NodePowerRecord&, const PowerStep& after, const PowerEvent*, Observed) {
    if (after.record.state != PowerState::failed) return;
    REQUIRE(after.action != PowerAction::mark);
    REQUIRE(after.action != PowerAction::evict);
    REQUIRE(action_of(after.record) == (after.record.marked ? PowerAction::unmark : PowerAction::none));
  });
  const PowerStep lost = follow_events(awake_node(), {{Kind::chosen_drain}, {Kind::marked}, {Kind::contact_lost}});
  CHECK(lost.record.state == PowerState::failed);
  CHECK(lost.action == PowerAction::unmark);
  const PowerStep silent = follow_events(
      awake_node(), {{Kind::chosen}, {Kind::drained}, {Kind::contact_lost}, {Kind::observed, 0, Observed::off}});
  CHECK(silent.record.state == PowerState::failed);
  CHECK(silent.action == PowerAction::unmark);
}

TEST_CASE("marks of a node with a sleep order are removed only when it is ready or has failed") {
  for_all_steps([](const NodePowerRecord& before, const PowerStep& after, const PowerEvent* event, Observed) {
    if (after.action == PowerAction::unmark)
      REQUIRE((after.record.state == PowerState::awake || after.record.state == PowerState::blocked ||
               after.record.state == PowerState::failed));
    const bool went_on = after.record.state == PowerState::awake || after.record.state == PowerState::blocked;
    if (before.ours && went_on) {
      REQUIRE(before.state == PowerState::probation);
      REQUIRE(event);
      REQUIRE(event->kind == Kind::ready);
    }
  });
}

TEST_CASE("each step before the sleep order is reversible, and a wake waits for a sleep in progress") {
  for (const NodePowerRecord& record : reachable()) {
    const PowerStep after = step(record, {Kind::wake_wanted, 0}, kNow, kLimits);
    if (record.state == PowerState::idle || record.state == PowerState::draining) {
      REQUIRE(after.record.state == PowerState::awake);
      REQUIRE(after.action == PowerAction::unmark);
    } else if (record.state == PowerState::suspending) {
      REQUIRE(after.record.state == PowerState::suspending);
      REQUIRE(after.record.wake_pending);
      REQUIRE(after.action != PowerAction::wake);
    }
  }
  NodePowerRecord record = follow_events(awake_node(), {{Kind::chosen}, {Kind::drained}, {Kind::wake_wanted}}).record;
  const std::uint64_t slept = record.operation;
  record = step(record, {Kind::goodbye, slept}, kNow, kLimits).record;
  const PowerStep off = step(record, {Kind::observed, 0, Observed::off}, kNow, kLimits);
  CHECK(off.record.state == PowerState::waking);
  CHECK(off.action == PowerAction::wake);
  CHECK(off.record.operation == slept + 1);
}

TEST_CASE("a new operation starts only after the previous one has ended or is overdue") {
  for_all_steps([](const NodePowerRecord& before, const PowerStep& after, const PowerEvent* event, Observed) {
    REQUIRE(after.record.operation >= before.operation);
    if (after.record.operation == before.operation) {
      if (after.record.state == PowerState::waking) REQUIRE(before.state == PowerState::waking);
      return;
    }
    REQUIRE(after.record.operation == before.operation + 1);
    if (!event) {
      REQUIRE(before.wake_pending);
      return;
    }
    if (before.state == PowerState::waking) {
      REQUIRE((event->kind == Kind::deadline || event->kind == Kind::action_failed));
    } else if (before.state == PowerState::suspending) {
      REQUIRE(before.wake_pending);
      REQUIRE((event->kind == Kind::observed || event->kind == Kind::goodbye));
    }
  });
}

TEST_CASE("a repeated event changes nothing, and reports of another operation are ignored") {
  for (const NodePowerRecord& record : reachable()) {
    for (const PowerEvent& event : events_for(record)) {
      for (const WallTime when : {kNow, kNow + std::chrono::hours(100)}) {
        const PowerStep once = step(record, event, when, kLimits);
        const PowerStep twice = step(once.record, event, when, kLimits);
        CAPTURE(to_string(record.state));
        CAPTURE(to_string(event.kind));
        REQUIRE(twice.record == once.record);
        REQUIRE_FALSE(twice.changed);
        const bool numbered = event.kind == Kind::drained || event.kind == Kind::drain_stopped ||
                              event.kind == Kind::goodbye || event.kind == Kind::action_failed;
        if (numbered && event.operation != record.operation && when == kNow) REQUIRE(once.record == record);
      }
    }
  }
}

TEST_CASE("each state except awake and an external failure has a time limit, after which it changes or is retried") {
  for (const NodePowerRecord& record : reachable()) {
    const std::optional<WallTime> due = deadline_of(record, kLimits);
    const bool none = record.state == PowerState::awake || (record.state == PowerState::failed && !record.ours);
    REQUIRE(due.has_value() == !none);
    if (!due) continue;
    const PowerEvent late{Kind::deadline, 0};
    REQUIRE(step(record, late, *due - Duration(1), kLimits).record == record);
    const PowerStep left = step(record, late, *due, kLimits);
    REQUIRE(left.changed);
    REQUIRE((left.record.state != record.state || left.record.operation == record.operation + 1));
  }
}

// The node works, its driver answers, and the controller reports the effect of each action.
NodePowerRecord healthy_run(NodePowerRecord record, std::size_t& steps) {
  WallTime now = kNow;
  for (steps = 0; steps < 40 && !takes_pods(record); ++steps) {
    const auto report = [&](const PowerEvent& event) { record = step(record, event, now, kLimits).record; };
    switch (action_of(record)) {
      case PowerAction::unmark:
        report({Kind::unmarked, 0});
        continue;
      case PowerAction::wake:
        report({Kind::agent_returned, 0});
        continue;
      case PowerAction::observe:
        if (record.state == PowerState::unknown) report({Kind::observed, 0, Observed::on});
        break;
      default:
        break;
    }
    if (record.state == PowerState::probation) {
      report({Kind::ready, 0});
      continue;
    }
    if (record.state == PowerState::failed && !record.ours) report({Kind::agent_returned, 0});
    if (record.state == PowerState::probation) continue;
    if (const auto due = deadline_of(record, kLimits)) {
      now = std::max(now, *due);
      report({Kind::deadline, 0});
    }
  }
  return record;
}

TEST_CASE("from every record, time limits alone return a working node to service") {
  for (const NodePowerRecord& record : reachable()) {
    std::size_t steps = 0;
    const NodePowerRecord after = healthy_run(record, steps);
    CAPTURE(to_string(record.state));
    REQUIRE(takes_pods(after));
  }
}

TEST_CASE("after a restart the state follows the observation, and drains are stopped") {
  const auto after = [](const NodePowerRecord& record, Observed observed) {
    return recover(record, observed, kNow, kLimits);
  };
  const PowerStep drained = follow_events(awake_node(), {{Kind::chosen_drain}, {Kind::marked}});
  for (const Observed observed : kObservations) {
    CHECK(after(drained.record, observed).record.state == PowerState::awake);
    CHECK(after(drained.record, observed).action == PowerAction::unmark);
  }
  NodePowerRecord idle = follow_events(awake_node(), {{Kind::chosen}}).record;
  CHECK(after(idle, Observed::on).record.state == PowerState::awake);
  idle.test = true;
  CHECK(after(idle, Observed::on).record == idle);
  CHECK(after(idle, Observed::on).action == PowerAction::mark);
  const NodePowerRecord ordered = follow_events(awake_node(), {{Kind::chosen}, {Kind::drained}}).record;
  CHECK(after(ordered, Observed::on).record.state == PowerState::probation);
  CHECK(after(ordered, Observed::off).record.state == PowerState::failed);
  CHECK(after(ordered, Observed::unknown).record.state == PowerState::unknown);
  const NodePowerRecord left = step(ordered, {Kind::goodbye, ordered.operation}, kNow, kLimits).record;
  CHECK(after(left, Observed::off).record.state == PowerState::asleep);
  CHECK(after(asleep_node(), Observed::off).record.state == PowerState::asleep);
  CHECK(after(asleep_node(), Observed::on).record.state == PowerState::probation);
  CHECK(after(asleep_node(), Observed::unknown).record.state == PowerState::unknown);
  CHECK(after(asleep_node(), Observed::unknown).action == PowerAction::observe);
  const NodePowerRecord waking = step(asleep_node(), {Kind::wake_wanted}, kNow, kLimits).record;
  CHECK(after(waking, Observed::unknown).action == PowerAction::wake);
  CHECK(after(waking, Observed::unknown).record.operation == waking.operation);
}

TEST_CASE("a node whose sleeps fail repeatedly is blocked, and free again after its time limit") {
  NodePowerRecord record = awake_node();
  for (std::uint32_t failed = 0; failed < kLimits.failures_to_block; ++failed) {
    record = follow_events(record, {{Kind::chosen}, {Kind::drained}, {Kind::action_failed}, {Kind::ready}}).record;
    CHECK((record.state == PowerState::blocked) == (failed + 1 == kLimits.failures_to_block));
    record = step(record, {Kind::unmarked}, kNow, kLimits).record;
  }
  CHECK(takes_pods(record));
  CHECK(step(record, {Kind::chosen}, kNow, kLimits).record == record);
  CHECK(step(record, {Kind::deadline}, kNow + kLimits.blocked, kLimits).record.state == PowerState::awake);
}

TEST_CASE("a time limit restarts from the moment to which the clock stepped back") {
  NodePowerRecord record = follow_events(awake_node(), {{Kind::chosen}}).record;
  const WallTime earlier = kNow - std::chrono::hours(48);
  record = step(record, {Kind::deadline}, earlier, kLimits).record;
  CHECK(record.state == PowerState::idle);
  CHECK(step(record, {Kind::deadline}, earlier + kLimits.idle, kLimits).record.state == PowerState::awake);
}

TEST_CASE("cycles are counted per day, and the day ends at midnight UTC") {
  NodePowerRecord record = follow_events(awake_node(), {{Kind::chosen}, {Kind::drained}}).record;
  CHECK(cycles_on_day(record, kNow) == 1);
  CHECK(cycles_on_day(record, kNow + std::chrono::hours(24)) == 0);
  CHECK(day_of(wall_from_ns(-1)) == -1);
}

TEST_CASE("a packed record is restored unchanged, and a truncated one is refused as a whole") {
  CHECK(rc::check([] {
    const auto& all = reachable();
    NodePowerRecord record = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    record.reason = *rc::gen::arbitrary<std::string>();
    record.operation = *rc::gen::arbitrary<std::uint64_t>();
    if (*rc::gen::arbitrary<bool>()) follow(record.measured.wake_j, 1000.0 * *rc::gen::inRange(0, 50));
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) record.wakes.add(1000.0 * *rc::gen::inRange(0, 50));
    if (*rc::gen::arbitrary<bool>()) record.use_depth(record.depth == Depth::off ? Depth::suspend : Depth::off);
    PackWriter out;
    record.pack(out);
    const std::string bytes = out.take();
    NodePowerRecord read;
    PackReader whole(bytes);
    read.unpack(whole);
    RC_ASSERT(whole.done());
    RC_ASSERT(read == record);
    NodePowerRecord kept = awake_node();
    const auto length = *rc::gen::inRange<std::size_t>(0, bytes.size());
    PackReader cut(std::string_view(bytes).substr(0, length));
    kept.unpack(cut);
    RC_ASSERT(!cut.ok());
    RC_ASSERT(kept == awake_node());
  }));
}

}  // namespace
}  // namespace wattle::placement::sleep
