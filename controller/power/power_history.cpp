#include "controller/power/power_history.hpp"

#include <utility>

namespace wattle::controller::power {

namespace core = placement::sleep;

void SleepTotals::pack(placement::PackWriter& out) const {
  out.real(saved_j);
  out.word(cycles);
  out.word(failures.size());
  for (const auto& [cause, count] : failures) {
    out.text(cause);
    out.word(count);
  }
  out.word(waited_pods);
  for (const double last : {waited_s, transitions_j, asleep_j}) out.real(last);
  out.word(tests);
  out.real(tests_j);
}

void SleepTotals::unpack(placement::PackReader& in) {
  SleepTotals read;
  read.saved_j = in.real();
  read.cycles = in.word();
  for (std::size_t n = in.count(16); n > 0; --n) {
    std::string cause = in.text();
    read.failures[std::move(cause)] = in.word();
  }
  read.waited_pods = in.word();
  read.waited_s = in.real();
  for (double* joules : {&read.transitions_j, &read.asleep_j}) *joules = in.real();
  read.tests = in.word();
  read.tests_j = in.real();
  if (in.ok()) *this = std::move(read);
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
