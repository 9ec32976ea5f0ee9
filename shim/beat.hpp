// beat: reports to the controller every second that this shim is running, with its figures. While the breaker is open,
// the same message is the probe that can close it.
// Source   Query `shim` of the ask socket (docs/reference/api.md, Commands)
// Errors   none: the breaker handles a controller that does not answer
// Threads  start() creates one, joined by the destructor; without start() the caller runs turn()
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/pulse.hpp"
#include "common/result.hpp"
#include "shim/breaker.hpp"

namespace wattle::shim {

inline constexpr Duration kBeatEvery = std::chrono::seconds(1);

using Facts = std::map<std::string, std::string>;

class Beat {
 public:
  using Report = std::function<Status(Facts facts)>;  // must return by the deadline of an ask
  // The referenced objects must outlive this object.
  Beat(Report report, std::function<Facts()> facts, Breaker& breaker, const Clock& clock, const Log& log)
      : report_(std::move(report)),
        facts_(std::move(facts)),
        breaker_(breaker),
        clock_(clock),
        log_(log),
        pulse_(clock.mono()) {}
  void start();
  // Reports if a second has passed, or sends the probe if the breaker requests one.
  void turn();
  const Pulse& pulse() const { return pulse_; }

 private:
  void report_changes();
  const Report report_;
  const std::function<Facts()> facts_;
  Breaker& breaker_;
  const Clock& clock_;
  const Log& log_;
  Pulse pulse_;
  std::optional<MonoTime> reported_at_;
  bool open_logged_ = false;
  LogThrottle logged_{std::chrono::minutes(1)};
  std::jthread thread_;
};

}  // namespace wattle::shim
