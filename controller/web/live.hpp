// live: what the page is told as it happens, made once for all who listen, and not at all when nobody does.
// Gives    `fleet` and `decisions` (what is new of them) each 2 s, `heat` each 4 s; all of it at once when somebody came
// Threads  the owner of the sources
#pragma once

#include <cstdint>

#include "common/clock.hpp"
#include "common/http/broadcast.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

class Live {
 public:
  explicit Live(http::Broadcast& to) : to_(to) {}
  void turn(const Sources& from, MonoTime now);

 private:
  http::Broadcast& to_;
  std::uint64_t joined_ = 0;
  std::uint64_t decision_ = 0;  // the newest that was told
  MonoTime told_at_{}, heat_at_{};
};

}  // namespace wattle::controller
