#include "controller/power/node_now.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

using Kind = core::PowerEvent::Kind;
using State = core::PowerState;

core::PowerEvent because(Kind kind, const core::NodePowerRecord& record, std::string reason) {
  core::PowerEvent event;
  event.kind = kind;
  event.operation = record.operation;
  event.reason = std::move(reason);
  return event;
}

bool returned(const core::NodePowerRecord& record, const NodeNow& now, const NodeTimes& times) {
  Duration grace{0};
  switch (record.state) {
    case State::suspending:
      if (!record.goodbye) return false;
      grace = kGoesOff;
      break;
    case State::asleep:
      grace = record.presumed ? kGoesOff : kIsOff;
      break;
    case State::waking:
    case State::failed:
    case State::unknown:
      break;
    default:
      return false;
  }
  return now.fresh && now.sampled_at && *now.sampled_at > times.entered + grace;
}

bool can_be_lost(const core::NodePowerRecord& record) {
  switch (record.state) {
    case State::awake:
    case State::blocked:
    case State::idle:
    case State::draining:
      return true;
    case State::suspending:
      return !record.goodbye;
    default:
      return false;
  }
}

std::string came(const NodeNow& now) { return "pod " + now.pod + " came to the node"; }

}  // namespace

std::vector<core::PowerEvent> events_of(const core::NodePowerRecord& record, const NodeNow& now, const NodeTimes& times,
                                        bool drained, MonoTime at, Duration lost_after) {
  std::vector<core::PowerEvent> events;
  const auto add = [&](Kind kind, std::string reason) { events.push_back(because(kind, record, std::move(reason))); };
  const State state = record.state;
  if (returned(record, now, times)) add(Kind::agent_returned, {});
  if (can_be_lost(record) && !now.fresh && at - times.contact >= lost_after)
    add(Kind::contact_lost,
        "its agent has been silent for " + std::to_string((at - times.contact) / std::chrono::seconds(1)) + " s");
  if (state == State::probation && now.fresh && now.ready) add(Kind::ready, {});
  if ((state == State::idle || state == State::suspending) && !now.pod.empty()) add(Kind::drain_stopped, came(now));
  if (state == State::asleep && !now.pod.empty()) add(Kind::wake_wanted, came(now));
  if ((state == State::idle || state == State::draining) && !now.held_by.empty()) add(Kind::drain_stopped, now.held_by);
  const bool leaving = now.pods_read && (state == State::idle || (state == State::draining && drained));
  if (leaving && times.marked && at - *times.marked >= kSettle && now.pod.empty() && now.fresh) add(Kind::drained, {});
  const bool sleeps =
      state == State::idle || state == State::draining || state == State::suspending || state == State::asleep;
  if (sleeps && now.forbidden) add(Kind::wake_wanted, "its label wattle.dev/sleep is no longer auto");
  if (core::deadline_of(record, {})) add(Kind::deadline, {});
  return events;
}

bool had_no_effect(const core::NodePowerRecord& record, core::Observed seen, Duration taken) {
  if (record.state == State::waking) return (seen == core::Observed::off || !record.observable) && taken >= kOrderAgain;
  if (record.state != State::suspending || !record.goodbye || record.wake_pending) return false;
  return seen == core::Observed::on &&
         taken >= std::max(kOrderAgain, from_seconds(2 * record.measured.sleep_s.value_or(0)));
}

}  // namespace wattle::controller::power
