#include "placement/sleep/power_machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace wattle::placement::sleep {

namespace {

using Kind = PowerEvent::Kind;

constexpr std::array<std::string_view, kPowerEvents> kEventNames{
    "chosen",         "chosen_drain", "marked",        "unmarked",    "drained", "drain_stopped",
    "goodbye",        "observed",     "action_failed", "wake_wanted", "ready",   "contact_lost",
    "agent_returned", "excluded",     "allowed",       "deadline"};
constexpr std::array<std::string_view, 7> kActionNames{"none", "mark", "evict", "sleep", "wake", "observe", "unmark"};

// One step: a copy of the record, changed by one event.
class Transition {
 public:
  Transition(const NodePowerRecord& record, WallTime now, const PowerLimits& limits)
      : before_(record), record_(record), now_(now), limits_(limits) {
    if (now_ < record_.since) record_.since = now_;
    if (record_.ordered && now_ < *record_.ordered) record_.ordered = now_;
  }

  void on(const PowerEvent& event);
  void after_restart(Observed observed);
  PowerStep result() {
    PowerStep done{std::move(record_), action_, false};
    done.changed = !(done.record == before_);
    return done;
  }

 private:
  void enter(PowerState state, std::string reason) {
    record_.state = state;
    if (state == PowerState::awake || state == PowerState::blocked) record_.test = false;
    record_.since = now_;
    record_.reason = std::move(reason);
    action_ = action_of(record_);
  }
  bool is(PowerState state) const { return record_.state == state; }
  bool under_way() const { return is(PowerState::idle) || is(PowerState::draining); }
  bool current(const PowerEvent& event) const { return event.operation == record_.operation; }

  void choose(PowerState state, const PowerEvent& event);
  void on_marked();
  void on_unmarked();
  void begin_sleep();
  void fall_asleep();
  void on_goodbye(const PowerEvent& event);
  void on_observed(Observed observed);
  void on_action_failed(const PowerEvent& event);
  void on_wake_wanted(const std::string& reason);
  void on_contact_lost(const std::string& reason);
  void on_agent_returned();
  void on_excluded(const std::string& reason);
  void on_deadline();
  void wake(std::string reason, std::uint32_t attempt = 1);
  void resolve(Observed observed);
  void fail_round_trip(PowerState state, std::string reason) {
    ++record_.failures;
    if (state == PowerState::failed) record_.slept = false;
    enter(state, std::move(reason));
  }
  void finish();

  const NodePowerRecord& before_;
  NodePowerRecord record_;
  WallTime now_;
  const PowerLimits& limits_;
  PowerAction action_ = PowerAction::none;
};

void Transition::choose(PowerState state, const PowerEvent& event) {
  if (!is(PowerState::awake) || record_.marked) return;
  ++record_.operation;
  record_.use_depth(event.depth);
  record_.marked = true;
  record_.test = false;
  enter(state, event.reason);
}

void Transition::on_marked() {
  if (is(PowerState::draining)) {
    action_ = PowerAction::evict;
  } else if (is(PowerState::awake) || is(PowerState::blocked) || is(PowerState::failed)) {
    record_.marked = true;  // a mark that arrived late
    action_ = PowerAction::unmark;
  }
}

void Transition::on_unmarked() {
  if (is(PowerState::awake) || is(PowerState::blocked) || is(PowerState::failed)) record_.marked = false;
}

void Transition::begin_sleep() {
  if (record_.day != day_of(now_)) record_.cycles_today = 0;
  record_.day = day_of(now_);
  ++record_.cycles_today;
  record_.ours = true;
  record_.goodbye = record_.slept = record_.presumed = record_.wake_pending = false;
  record_.ordered = now_;
  enter(PowerState::suspending, record_.reason);
}

void Transition::fall_asleep() {
  if (record_.ordered) follow(record_.measured.sleep_s, seconds(now_ - *record_.ordered));
  record_.ordered.reset();
  record_.slept = true;
  record_.presumed = !record_.observable;
  record_.last_slept = now_;
  enter(PowerState::asleep, record_.reason);
  if (record_.wake_pending) wake(record_.reason);
}

void Transition::wake(std::string reason, std::uint32_t attempt) {
  ++record_.operation;
  if (attempt == 1) record_.ordered = now_;
  record_.attempts = attempt;
  record_.goodbye = record_.wake_pending = record_.presumed = false;
  enter(PowerState::waking, std::move(reason));
}

void Transition::on_goodbye(const PowerEvent& event) {
  if (!current(event) || record_.goodbye || !record_.ours || !record_.marked) return;
  // In probation, the driver reported a failure, but the order was carried out anyway.
  if (!is(PowerState::suspending) && !is(PowerState::unknown) && !is(PowerState::probation)) return;
  record_.goodbye = true;
  if (!record_.observable) return fall_asleep();
  if (is(PowerState::probation)) enter(PowerState::suspending, record_.reason);
  action_ = PowerAction::observe;
}

void Transition::resolve(Observed observed) {
  if (observed == Observed::on) enter(PowerState::probation, "observed on");
  if (observed != Observed::off) return;
  if (record_.ours && record_.goodbye) return fall_asleep();
  enter(PowerState::failed, "off without a goodbye of its agent");
}

void Transition::on_observed(Observed observed) {
  if (is(PowerState::unknown)) return resolve(observed);
  if (is(PowerState::suspending) && record_.goodbye && observed == Observed::off) return fall_asleep();
  if (is(PowerState::asleep) && observed == Observed::on) enter(PowerState::probation, "woke by itself");
}

void Transition::on_action_failed(const PowerEvent& event) {
  if (!current(event)) return;
  if (is(PowerState::suspending)) {
    record_.ordered.reset();
    fail_round_trip(PowerState::probation, event.reason);
  } else if (is(PowerState::waking)) {
    if (record_.attempts < limits_.wake_attempts) return wake(event.reason, record_.attempts + 1);
    fail_round_trip(PowerState::failed, event.reason);
  }
}

void Transition::on_wake_wanted(const std::string& reason) {
  switch (record_.state) {
    case PowerState::idle:
    case PowerState::draining:
      return enter(PowerState::awake, reason);
    case PowerState::suspending:
      record_.wake_pending = true;
      record_.reason = reason;
      return;
    case PowerState::asleep:
    case PowerState::failed:
    case PowerState::unknown:
      return wake(reason);
    default:
      return;
  }
}

void Transition::on_contact_lost(const std::string& reason) {
  if (is(PowerState::awake) || is(PowerState::blocked) || under_way()) return enter(PowerState::failed, reason);
  if (is(PowerState::suspending) && !record_.goodbye) fail_round_trip(PowerState::unknown, reason);
}

void Transition::on_agent_returned() {
  switch (record_.state) {
    case PowerState::suspending:
      if (!record_.goodbye) return;
      record_.ordered.reset();
      return fail_round_trip(PowerState::probation, "continued after its goodbye");
    case PowerState::asleep:
      return enter(PowerState::probation, "woke by itself");
    case PowerState::waking:
    case PowerState::failed:
    case PowerState::unknown:
      return enter(PowerState::probation, record_.reason);
    default:
      return;
  }
}

void Transition::on_excluded(const std::string& reason) {
  switch (record_.state) {
    case PowerState::awake:
    case PowerState::idle:
    case PowerState::draining:
      return enter(PowerState::blocked, reason);
    case PowerState::suspending:
    case PowerState::asleep:
      return on_wake_wanted(reason);
    default:
      return;
  }
}

void Transition::finish() {
  const bool tested = record_.test && record_.slept;
  if (record_.slept) {
    if (record_.ordered) follow(record_.measured.wake_s, seconds(now_ - *record_.ordered));
    ++record_.round_trips;
    record_.failures = 0;
    record_.last_woken = now_;
  }
  record_.ordered.reset();
  record_.attempts = 0;
  record_.ours = record_.goodbye = record_.slept = record_.presumed = record_.wake_pending = false;
  if (record_.failures < limits_.failures_to_block) {
    enter(PowerState::awake, record_.reason);
    record_.test = tested;
    return;
  }
  record_.failures = 0;
  enter(PowerState::blocked, "too many failed sleeps, the last: " + record_.reason);
}

void Transition::on_deadline() {
  const std::optional<WallTime> due = deadline_of(record_, limits_);
  if (!due || now_ < *due) return;
  switch (record_.state) {
    case PowerState::awake:
      return;
    case PowerState::idle:
      return enter(PowerState::awake, "its marks had no effect in time");
    case PowerState::draining:
      return enter(PowerState::awake, "it was not empty in time");
    case PowerState::suspending:
      return fail_round_trip(PowerState::unknown,
                             record_.goodbye ? "not observed off after its goodbye" : "no goodbye in time");
    case PowerState::asleep:
      return wake("the longest sleep has passed");
    case PowerState::waking:
      if (record_.attempts < limits_.wake_attempts) return wake(record_.reason, record_.attempts + 1);
      return fail_round_trip(PowerState::failed, "does not wake");
    case PowerState::probation:
      return fail_round_trip(PowerState::failed, "runs, but is not ready");
    case PowerState::blocked:
      return enter(PowerState::awake, {});
    case PowerState::failed:
      return wake("woken again after a failure");
    case PowerState::unknown:
      if (record_.ours) return wake("its power state is unknown");
      return enter(PowerState::failed, "its power state is unknown");
  }
}

void Transition::on(const PowerEvent& event) {
  switch (event.kind) {
    case Kind::chosen:
      return choose(PowerState::idle, event);
    case Kind::chosen_drain:
      return choose(PowerState::draining, event);
    case Kind::marked:
      return on_marked();
    case Kind::unmarked:
      return on_unmarked();
    case Kind::drained:
      if (under_way() && current(event)) begin_sleep();
      return;
    case Kind::drain_stopped:
      if (current(event) && (under_way() || is(PowerState::suspending))) on_wake_wanted(event.reason);
      return;
    case Kind::goodbye:
      return on_goodbye(event);
    case Kind::observed:
      return on_observed(event.observed);
    case Kind::action_failed:
      return on_action_failed(event);
    case Kind::wake_wanted:
      return on_wake_wanted(event.reason);
    case Kind::ready:
      if (is(PowerState::probation)) finish();
      return;
    case Kind::contact_lost:
      return on_contact_lost(event.reason);
    case Kind::agent_returned:
      return on_agent_returned();
    case Kind::excluded:
      return on_excluded(event.reason);
    case Kind::allowed:
      if (is(PowerState::blocked)) enter(PowerState::awake, {});
      return;
    case Kind::deadline:
      return on_deadline();
  }
}

void Transition::after_restart(Observed observed) {
  action_ = action_of(record_);
  switch (record_.state) {
    case PowerState::idle:
      if (record_.test) return;
      [[fallthrough]];
    case PowerState::draining:
      return enter(PowerState::awake, "the controller restarted");
    case PowerState::suspending:
    case PowerState::asleep:
      if (observed == Observed::off && record_.goodbye && is(PowerState::asleep)) return;
      if (!record_.observable && record_.goodbye) {
        if (is(PowerState::suspending)) fall_asleep();
        return;
      }
      if (is(PowerState::suspending) && !(record_.goodbye && observed == Observed::off)) ++record_.failures;
      enter(PowerState::unknown, "the controller restarted");
      return resolve(observed);
    case PowerState::unknown:
      return resolve(observed);
    default:
      return;
  }
}

}  // namespace

std::string_view to_string(PowerEvent::Kind kind) { return kEventNames[static_cast<std::size_t>(kind)]; }
std::string_view to_string(PowerAction action) { return kActionNames[static_cast<std::size_t>(action)]; }

PowerAction action_of(const NodePowerRecord& record) {
  switch (record.state) {
    case PowerState::awake:
    case PowerState::blocked:
    case PowerState::failed:
      return record.marked ? PowerAction::unmark : PowerAction::none;
    case PowerState::idle:
    case PowerState::draining:
      return PowerAction::mark;
    case PowerState::suspending:
      return record.goodbye ? PowerAction::observe : PowerAction::sleep;
    case PowerState::asleep:
    case PowerState::unknown:
      return record.observable ? PowerAction::observe : PowerAction::none;
    case PowerState::waking:
      return PowerAction::wake;
    case PowerState::probation:
      return PowerAction::none;
  }
  return PowerAction::none;
}

std::optional<WallTime> deadline_of(const NodePowerRecord& record, const PowerLimits& limits) {
  switch (record.state) {
    case PowerState::awake:
      return std::nullopt;
    case PowerState::idle:
      return record.since + limits.idle;
    case PowerState::draining:
      return record.since + limits.draining;
    case PowerState::suspending:
      return record.since + limits.suspending;
    case PowerState::asleep:
      return record.since + limits.asleep;
    case PowerState::waking:
      return record.since + std::max(limits.waking, from_seconds(2 * record.measured.wake_s.value_or(0)));
    case PowerState::probation:
      return record.since + limits.probation;
    case PowerState::blocked:
      return record.since + limits.blocked;
    case PowerState::failed:
      if (!record.ours) return std::nullopt;
      return record.since + limits.failed;
    case PowerState::unknown:
      return record.since + limits.unknown;
  }
  return std::nullopt;
}

PowerStep step(const NodePowerRecord& record, const PowerEvent& event, WallTime now, const PowerLimits& limits) {
  Transition transition(record, now, limits);
  transition.on(event);
  return transition.result();
}

PowerStep recover(const NodePowerRecord& record, Observed observed, WallTime now, const PowerLimits& limits) {
  Transition transition(record, now, limits);
  transition.after_restart(observed);
  return transition.result();
}

}  // namespace wattle::placement::sleep
