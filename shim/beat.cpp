#include "shim/beat.hpp"

#include "common/stopped_within.hpp"
#include "shim/prioritizer.hpp"

namespace wattle::shim {

namespace {
constexpr std::chrono::milliseconds kLookWhilePaused{20};   // delay until the end of a pause is noticed
constexpr std::chrono::milliseconds kLookWhileClosed{100};  // the shortest pause of the breaker
}  // namespace

void Beat::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    do turn();
    while (!stopped_within(stop, breaker_.may_ask() ? kLookWhileClosed : kLookWhilePaused));
  });
}

void Beat::turn() {
  pulse_.beat(clock_.mono());
  if (breaker_.begin_probe()) {
    const Status reported = report_(facts_());
    breaker_.end_probe(reported || reported.error().code == Errc::malformed);
    reported_at_ = clock_.mono();
  } else if (breaker_.may_ask() && (!reported_at_ || clock_.mono() - *reported_at_ >= kBeatEvery)) {
    reported_at_ = clock_.mono();
    const Status reported = report_(facts_());
    note(breaker_, reported ? nullptr : &reported.error());
  }
  report_changes();
}

// Logs once when the breaker opens and once when it closes, at most one line per minute.
void Beat::report_changes() {
  const bool open = !breaker_.may_ask();
  if (open == open_logged_) return;
  if (open) {
    const auto count = logged_.note("open", clock_.mono());
    if (!count) return;
    log_.warn("breaker.opened",
              "the circuit breaker opened; the shim sends no requests until the controller answers again",
              {{"breaker", "open"}, {"times", breaker_.times_opened()}, {"answering_from", "board, then neutral"}});
  } else {
    log_.info("breaker.closed", "the circuit breaker closed; the shim sends requests again", {{"breaker", "closed"}});
  }
  open_logged_ = open;
}

}  // namespace wattle::shim
