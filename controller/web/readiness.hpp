// readiness: whether the controller can do its work now: the store takes records, and the state is warm.
// Rules    warm: the first lists of an API server that is followed are there, and half of the nodes that the store knows have been
//          heard again; nodes that do not come back within kWarmUp are not waited for
// Threads  the owner of the sources
#pragma once

#include <string>

#include "controller/web/sources.hpp"

namespace wattle::controller {

inline constexpr Duration kWarmUp = std::chrono::seconds(30);

struct Readiness {
  bool ready = false;
  std::string text;  // a line for each part
};
Readiness readiness(const Sources& from);

}  // namespace wattle::controller
