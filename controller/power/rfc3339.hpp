// rfc3339: wall time as the API server reads and writes it: "2026-11-28T22:50:03.012345Z".
// Units    UTC, microseconds
// Errors   none
// Threads  pure
#pragma once

#include <string>

#include "common/clock.hpp"

namespace wattle::controller::power {

std::string rfc3339_text(WallTime at);

}  // namespace wattle::controller::power
