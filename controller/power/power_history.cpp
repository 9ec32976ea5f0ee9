#include "controller/power/power_history.hpp"

#include <utility>

namespace wattle::controller::power {

void SleepTotals::pack(placement::PackWriter& out) const {
  out.real(saved_j);
  out.word(cycles);
  out.word(failures.size());
  for (const auto& [cause, count] : failures) {
    out.text(cause);
    out.word(count);
  }
  out.word(waited_pods);
  out.real(waited_s);
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
  if (in.ok()) *this = std::move(read);
}

std::string_view failure_of(const placement::sleep::NodePowerRecord& before,
                            const placement::sleep::NodePowerRecord& after) {
  using State = placement::sleep::PowerState;
  const State from = before.state, to = after.state;
  if (from == to) return {};
  if (from == State::suspending && to == State::probation) return before.goodbye ? "went_on" : "refused";
  if (from == State::suspending && to == State::unknown) return before.goodbye ? "not_off" : "no_goodbye";
  if (from == State::asleep && to == State::probation) return "woke_by_itself";
  if (to != State::failed || from == State::awake || from == State::blocked) return {};
  if (from == State::waking) return "no_wake";
  if (from == State::probation) return "not_ready";
  return "lost";
}

}  // namespace wattle::controller::power
