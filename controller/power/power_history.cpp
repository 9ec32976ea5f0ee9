#include "controller/power/power_history.hpp"

#include "placement/cluster/pack_fields.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

template <class V>
void SleepTotals::fields(V& v) {
  v(saved_j, cycles, failures, waited_pods, waited_s, transitions_j, asleep_j, tests, tests_j);
}

void SleepTotals::pack(placement::PackWriter& out) const { pack_fields(out, *this); }
void SleepTotals::unpack(placement::PackReader& in) { unpack_fields(in, *this); }

std::vector<double> times_asleep_s(const std::deque<SleepTransition>& history) {
  std::map<std::string, WallTime> began;
  std::vector<double> times_s;
  for (const SleepTransition& each : history) {
    if (each.to == core::PowerState::asleep) began[each.node] = each.at;
    if (each.from != core::PowerState::asleep || !began.contains(each.node)) continue;
    if (each.reason != kEndOfTest) times_s.push_back(seconds(each.at - began[each.node]));
    began.erase(each.node);
  }
  return times_s;
}

std::string_view failure_of(const placement::sleep::NodePowerRecord& before,
                            const placement::sleep::NodePowerRecord& after) {
  const core::PowerState from = before.state, to = after.state;
  if (from == to) return {};
  if (from == core::PowerState::suspending && to == core::PowerState::probation)
    return before.goodbye ? "went_on" : "refused";
  if (from == core::PowerState::suspending && to == core::PowerState::unknown)
    return before.goodbye ? "not_off" : "no_goodbye";
  if (from == core::PowerState::asleep && to == core::PowerState::probation) return "woke_by_itself";
  if (to != core::PowerState::failed || from == core::PowerState::awake || from == core::PowerState::blocked) return {};
  if (from == core::PowerState::waking) return "no_wake";
  if (from == core::PowerState::probation) return "not_ready";
  return "lost";
}

}  // namespace wattle::controller::power
