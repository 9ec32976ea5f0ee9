#include "controller/power/power_cycles.hpp"

#include <algorithm>
#include <utility>

#include "controller/power/transition_energy.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

using Kind = core::PowerEvent::Kind;
using State = core::PowerState;
using Action = core::PowerAction;

core::PowerEvent event_of(Kind kind, std::uint64_t operation, std::string reason = {}) {
  core::PowerEvent event;
  event.kind = kind;
  event.operation = operation;
  event.reason = std::move(reason);
  return event;
}

bool runs(const core::NodePowerRecord& record) {
  return record.state == State::awake || record.state == State::blocked;
}

void put_test(PowerRecords& records, core::NodePowerRecord record, bool test) {
  record.test = test;
  records.put(std::move(record));
}

// Ends the agent's wait for the grant.
wire::SleepOrder cancel_order(std::uint64_t operation) { return {operation, "awake", false, false, 0}; }

// A step that brings a node back, and that may safely be repeated after a crash, need not wait for the disk.
bool brings_back(Action action) { return action == Action::wake || action == Action::unmark; }

}  // namespace

PowerCycles::PowerCycles(const Around& around, std::unique_ptr<PowerStore> store, std::shared_ptr<NodePower> power,
                         std::shared_ptr<NodeMarks> marks, std::size_t threads)
    : around_(around),
      records_(std::move(store), around_.clock, around_.log),
      actions_(std::move(power), std::move(marks), threads),
      drain_(records_, actions_, around_.moves, around_.clock, around_.log) {}

Status PowerCycles::load() {
  WATTLE_CHECK(records_.load());
  for (const auto& [node, record] : records_.all())
    if (!runs(record)) lane_of(node).recovering = true;
  return {};
}

PowerCycles::Lane& PowerCycles::lane_of(const std::string& node) {
  const auto [found, fresh] = lanes_.try_emplace(node);
  if (fresh) {
    found->second.now.node.name = node;
    found->second.times.entered = found->second.times.contact = around_.clock.mono();
  }
  return found->second;
}

bool PowerCycles::any_sleeps() const {
  return std::any_of(records_.all().begin(), records_.all().end(),
                     [](const auto& item) { return !takes_pods(item.second); });
}

void PowerCycles::look(NodeNow now) {
  const std::string node = now.node.name;
  if (records_.find(node) == nullptr) {
    if (!now.managed || !now.fresh) return;
    Record record;
    record.node = node;
    record.state = State::awake;
    record.since = around_.clock.wall();
    records_.put(std::move(record));
  }
  Lane& lane = lane_of(node);
  const MonoTime at = around_.clock.mono();
  if (now.fresh) lane.times.contact = at;
  lane.meter.look(now.reading);
  lane.now = std::move(now);
  lane.looked = true;
  if (!lane.recovering) {
    const bool drained = drain_.node() != node || drain_.done();
    for (const core::PowerEvent& each :
         events_of(*records_.find(node), lane.now, lane.times, drained, at, around_.rules.lost_after))
      event(node, each);
    const Record& record = *records_.find(node);
    const bool test = record.test || record.round_trips < around_.rules.proven_round_trips;
    if (record.state == State::asleep && test && at - lane.times.entered >= kTestSleeps)
      event(node, event_of(Kind::wake_wanted, 0, std::string(kEndOfTest)));
  }
  pump(node, lane);
}

bool PowerCycles::reports(const std::string& node) {
  Lane& lane = lane_of(node);
  if (!lane.looked || !lane.now.fresh || lane.recovering) return false;
  lane.times.contact = around_.clock.mono();
  return true;
}

void PowerCycles::turn(std::size_t pods) {
  follow_clock();
  records_.turn();
  for (const PowerOutcome& outcome : actions_.done()) take(outcome);
  for (const EvictOutcome& outcome : actions_.evicted()) drain_.take(outcome);
  if (const std::string node = drain_.node(); !node.empty()) {
    const Record& record = *records_.find(node);
    if (record.state != State::draining)
      drain_.end();
    else if (lane_of(node).times.marked)
      if (const auto why = drain_.turn(pods, lane_of(node).now.emptied))
        event(node, event_of(Kind::drain_stopped, record.operation, *why));
  }
  for (auto& [node, lane] : lanes_)
    if (const Record* record = records_.find(node); record != nullptr && !(runs(*record) && !record->marked))
      pump(node, lane);
}

void PowerCycles::goodbye(const std::string& node, const wire::Goodbye& message) {
  const Record* record = records_.find(node);
  if (record == nullptr || record->operation != message.operation) return;
  if (!message.refused.empty())
    return event(node, event_of(Kind::action_failed, message.operation, "its agent refuses: " + message.refused));
  Lane& lane = lane_of(node);
  const bool before = record->goodbye;
  event(node, event_of(Kind::goodbye, message.operation));
  if (!before && records_.find(node)->goodbye) lane.granting = message.operation;
}

void PowerCycles::choose(const core::SleepChoice& choice, bool observable) {
  const Record* found = records_.find(choice.node);
  if (found == nullptr || found->state != State::awake || found->marked) return;
  follow_clock();
  Lane& lane = lane_of(choice.node);
  if (!lane.now.fresh || !lane.now.pods_read || (choice.moves.empty() && !lane.now.pod.empty())) return;
  Record record = *found;
  record.observable = observable;
  core::PowerEvent chosen = event_of(choice.moves.empty() ? Kind::chosen : Kind::chosen_drain, 0, choice.reason);
  chosen.depth = choice.depth;
  core::PowerStep step = core::step(record, chosen, around_.clock.wall(), around_.limits);
  if (step.record.state == State::awake) return;
  records_.change_ledger().slept(around_.clock.wall());
  if (!choice.moves.empty()) drain_.begin(choice.node, choice.moves);
  apply(choice.node, lane, std::move(step));
}

Status PowerCycles::test(const std::string& node, Result<Depth> depth, bool observable, const std::string& who) {
  const Record* record = records_.find(node);
  if (record == nullptr)
    return fail(Errc::not_found, node, "does not sleep by itself",
                "set sleep.mode: auto and the node's label wattle.dev/sleep=auto");
  if (record->state != State::awake || record->marked)
    return fail(Errc::conflict, node, "is " + std::string(to_string(record->state)), "wait until it is awake");
  Lane& lane = lane_of(node);
  if (!lane.now.fresh) return fail(Errc::unavailable, node, "its agent does not report", "see wattle doctor");
  if (!lane.now.pod.empty())
    return fail(Errc::conflict, node, "has pod " + lane.now.pod, "drain the node first; a test needs an empty node");
  if (!depth) return forward_error(depth);
  const core::SleepChoice choice{.node = node, .depth = *depth, .reason = "a test by " + who};
  choose(choice, observable);
  if (records_.find(node)->state == State::awake)
    return fail(Errc::conflict, node, "cannot be chosen now", "try again in a moment");
  put_test(records_, *records_.find(node), true);
  return {};
}

bool PowerCycles::wake(const std::string& node, const std::string& reason, bool planned) {
  const Record* record = records_.find(node);
  if (record == nullptr || runs(*record)) return false;
  Lane& lane = lane_of(node);
  if (lane.recovering) {
    lane.wanted = reason;
    return true;
  }
  const State before = record->state;
  if (planned && record->test) put_test(records_, *record, false);  // it is needed
  event(node, event_of(Kind::wake_wanted, 0, reason));
  if (planned && records_.find(node)->state != before) records_.change_ledger().woke(around_.clock.wall());
  return true;
}

void PowerCycles::allow(const std::string& node) { event(node, event_of(Kind::allowed, 0)); }

void PowerCycles::event(const std::string& node, const core::PowerEvent& event) {
  const Record* record = records_.find(node);
  if (record == nullptr) return;
  Lane& lane = lane_of(node);
  if (lane.recovering) return;
  follow_clock();
  core::PowerStep step = core::step(*record, event, around_.clock.wall(), around_.limits);
  if (step.changed) apply(node, lane, std::move(step));
}

void PowerCycles::apply(const std::string& node, Lane& lane, core::PowerStep step) {
  const Record before = *records_.find(node);
  const Record& after = step.record;
  if (before.state != after.state || before.operation != after.operation) {
    lane.times.entered = around_.clock.mono();
    lane.asked.reset();
    if (after.attempts < 2) lane.not_before = {};
    if (after.state == State::idle || after.state == State::draining) lane.times.marked.reset();
    meter_transition(lane.meter, before, step.record, around_.clock.mono());
    count(lane, before, after);
    announce(lane, before, after);
  }
  records_.put(std::move(step.record));
}

void PowerCycles::count(const Lane& lane, const Record& before, const Record& after) {
  if (const std::string_view cause = failure_of(before, after); !cause.empty())
    ++records_.change_totals().failures[std::string(cause)];
  if (after.round_trips != before.round_trips)
    add_trip(records_.change_totals(), before, after, lane.now.idle_w, around_.clock.wall());
}

void PowerCycles::announce(const Lane& lane, const Record& before, const Record& after) {
  const std::string from(to_string(before.state)), to(to_string(after.state));
  const std::string_view cause = failure_of(before, after);
  if (cause.empty())
    around_.log.info(
        "sleep.transition", "the power state of a node changes",
        {{"node", after.node}, {"from", from}, {"to", to}, {"operation", after.operation}, {"why", after.reason}});
  else
    around_.log.warn("sleep.failed", "a node did not sleep or wake as ordered",
                     {{"node", after.node},
                      {"cause", cause},
                      {"from", from},
                      {"to", to},
                      {"operation", after.operation},
                      {"drivers", lane.now.drivers},
                      {"why", after.reason}});
  if (!cause.empty()) return actions_.event(after.node, {"WattleSleepFailed", to + ": " + after.reason, true});
  if (after.state == State::draining) actions_.event(after.node, {"WattleDraining", after.reason});
  if (after.state == State::asleep) actions_.event(after.node, {"WattleAsleep", after.reason});
  if (after.state == State::waking) actions_.event(after.node, {"WattleWaking", after.reason});
  if (before.state == State::probation && runs(after)) actions_.event(after.node, {"WattleAwake", after.reason});
}

wire::SleepOrder PowerCycles::order_of(const Record& record, const Lane& lane, bool granted) const {
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(around_.limits.asleep);
  return {record.operation, std::string(to_string(record.depth)), lane.now.by_agent, granted,
          static_cast<std::uint64_t>(longest.count())};
}

void PowerCycles::start(PowerCall call, const Record& record, Lane& lane) {
  lane.busy = true;
  lane.again = false;
  actions_.start(call, lane.now.node, record);
}

// Begins the action of the record, if the record is on disk and no call for the node is running.
void PowerCycles::pump(const std::string& node, Lane& lane) {
  const Record& record = *records_.find(node);
  const MonoTime at = around_.clock.mono();
  if (lane.busy || !lane.looked || at < lane.not_before) return;
  if (lane.recovering) return start(PowerCall::observe, record, lane);
  const Action action = core::action_of(record);
  const bool stored = records_.stored(node);
  if (!stored && !(records_.failing() && brings_back(action))) return;
  if (stored && grant(record, lane)) return;
  switch (action) {
    case Action::none:
    case Action::evict:
      return;
    case Action::mark:
      if (!lane.times.marked) start(PowerCall::mark, record, lane);
      return;
    case Action::unmark:
      return start(PowerCall::unmark, record, lane);
    case Action::sleep:
      return sleep(record, lane);
    case Action::wake:
      if (lane.taken != record.operation || lane.again) return start(PowerCall::wake, record, lane);
      if (record.observable) return start(PowerCall::observe, record, lane);
      lane.again = had_no_effect(record, core::Observed::unknown, at - lane.taken_at);
      return;
    case Action::observe:
      return start(PowerCall::observe, record, lane);
  }
}

void PowerCycles::sleep(const Record& record, Lane& lane) {
  if (lane.annotated != record.operation) return start(PowerCall::annotate, record, lane);
  const MonoTime at = around_.clock.mono();
  if (lane.asked && at - *lane.asked < kAskAgain) return;
  lane.asked = at;
  if (const Status sent = actions_.send(record.node, order_of(record, lane, false)); !sent)
    failed({record.node, PowerCall::sleep, record.operation, tl::unexpected<Error>(sent.error()), {}}, false);
}

// After the goodbye: a driver puts the node to sleep, or the agent does.
bool PowerCycles::grant(const Record& record, Lane& lane) {
  if (lane.granting == 0) return false;
  const bool due = lane.granting == record.operation && record.goodbye &&
                   (record.state == State::suspending || record.state == State::asleep);
  lane.granting = 0;
  if (!due) return false;
  if (!lane.now.by_agent) {
    start(PowerCall::sleep, record, lane);
    return true;
  }
  if (const Status sent = actions_.send(record.node, order_of(record, lane, true)); !sent)
    failed({record.node, PowerCall::sleep, record.operation, tl::unexpected<Error>(sent.error()), {}},
           lane.taken != record.operation);
  else
    taken(record.operation, lane, kObserveSoon);
  return true;
}

void PowerCycles::taken(std::uint64_t operation, Lane& lane, Duration observe_after) {
  lane.taken = operation;
  lane.taken_at = around_.clock.mono();
  lane.not_before = lane.taken_at + observe_after;
}

void PowerCycles::take(const PowerOutcome& outcome) {
  Lane& lane = lane_of(outcome.node);
  lane.busy = false;
  if (lane.recovering) return recover(outcome, lane);
  if (!outcome.status) return failed(outcome, lane.taken != outcome.operation);
  switch (outcome.call) {
    case PowerCall::mark:
      lane.times.marked = around_.clock.mono() - (has_marks() ? Duration{0} : kSettle);  // no scheduler to wait for
      return event(outcome.node, event_of(Kind::marked, 0));
    case PowerCall::unmark:
      return event(outcome.node, event_of(Kind::unmarked, 0));
    case PowerCall::annotate:
      lane.annotated = outcome.operation;
      return;
    case PowerCall::sleep:
      taken(outcome.operation, lane, std::chrono::seconds(1));
      if (const Record& now = *records_.find(outcome.node); now.goodbye && now.operation == outcome.operation)
        static_cast<void>(actions_.send(outcome.node, order_of(now, lane, true)));  // if it is not off already
      return;
    case PowerCall::wake:
      return taken(outcome.operation, lane, kObserveSoon);
    case PowerCall::observe:
      return observed(outcome, lane);
  }
}

void PowerCycles::observed(const PowerOutcome& outcome, Lane& lane) {
  const Record& record = *records_.find(outcome.node);
  lane.not_before = around_.clock.mono() + (record.state == State::asleep ? kObserveAsleep : kObserveSoon);
  core::PowerEvent seen = event_of(Kind::observed, 0);
  seen.observed = outcome.observed();
  const bool was_asleep = record.state == State::asleep;
  if (seen.observed == core::Observed::on && outcome.seen.power_w) lane.meter.observe(*outcome.seen.power_w);
  if (lane.taken == record.operation && had_no_effect(record, seen.observed, around_.clock.mono() - lane.taken_at)) {
    lane.again = record.state == State::waking;
    if (!lane.again) lane.granting = record.operation;
  }
  event(outcome.node, seen);
  const Record& now = *records_.find(outcome.node);
  if (!was_asleep || now.state != State::asleep || !outcome.seen.power_w) return;
  Record measured = now;
  core::follow(measured.measured.asleep_w, *outcome.seen.power_w);
  records_.put(std::move(measured));
}

void PowerCycles::recover(const PowerOutcome& outcome, Lane& lane) {
  lane.recovering = false;
  lane.not_before = {};
  follow_clock();
  const Record& record = *records_.find(outcome.node);
  core::PowerStep step = core::recover(record, outcome.observed(), around_.clock.wall(), around_.limits);
  if (step.changed) apply(outcome.node, lane, std::move(step));
  resume_meter(lane.meter, *records_.find(outcome.node), around_.clock.mono(), around_.clock.wall());
  if (!lane.wanted.empty()) wake(outcome.node, std::exchange(lane.wanted, {}), false);
}

// `ends`: a first order that failed becomes an event of the machine; any other is repeated.
void PowerCycles::failed(const PowerOutcome& outcome, bool ends) {
  Lane& lane = lane_of(outcome.node);
  lane.not_before = around_.clock.mono() + kCallAgain;
  const std::string call(to_string(outcome.call));
  if (const auto count = failures_logged_.note(outcome.node + " " + call, around_.clock.mono()))
    around_.log.warn("sleep.call_failed", "a call to a node's power driver, agent or API server has failed",
                     {{"node", outcome.node},
                      {"call", call},
                      {"drivers", lane.now.drivers},
                      {"operation", outcome.operation},
                      {"error", outcome.status.error()},
                      {"count", *count}});
  if (ends && outcome.call == PowerCall::sleep)  // an agent without a session does not hold back records
    static_cast<void>(actions_.send(outcome.node, cancel_order(outcome.operation)));
  if (ends && (outcome.call == PowerCall::sleep || outcome.call == PowerCall::wake))
    event(outcome.node,
          event_of(Kind::action_failed, outcome.operation, "the order failed: " + outcome.status.error().message()));
  if (outcome.call == PowerCall::observe) observed(outcome, lane);
}

}  // namespace wattle::controller::power
