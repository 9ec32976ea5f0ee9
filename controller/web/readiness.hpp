// readiness: reports whether the controller can work now: the store accepts records, and the state is warm.
// Rules    warm: the first lists of a watched API server have arrived, and half of the nodes in the store have reported
//          again; waits at most kWarmUp for nodes
// Threads  the owner of the parts
#pragma once

#include <string>

#include "controller/parts.hpp"

namespace wattle::controller {

inline constexpr Duration kWarmUp = std::chrono::seconds(30);

struct Readiness {
  bool ready = false;
  std::string text;  // one line per part
};
Readiness readiness(const Parts& from);

}  // namespace wattle::controller
