// live: broadcasts updates to the page, built once for all listeners, and only if there are listeners.
// Gives    `fleet` and `decisions` (new ones) every 2 s, `heat` every 4 s; all of them at once for a new listener
// Threads  the owner of the parts
#pragma once

#include <cstdint>

#include "common/clock.hpp"
#include "common/http/broadcast.hpp"
#include "controller/decisions/decision_log.hpp"
#include "controller/parts.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {

class Live {
 public:
  explicit Live(http::Broadcast& to) : to_(to) {}
  Steps turn(const Parts& from, MonoTime now);

 private:
  void publish_decisions(const DecisionLog& log);

  http::Broadcast& to_;
  std::uint64_t joined_ = 0;
  std::uint64_t decision_ = 0;  // id of the newest broadcast decision
  MonoTime reported_at_{}, heat_at_{};
};

}  // namespace wattle::controller
