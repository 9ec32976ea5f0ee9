// finite: numbers that no peer would read. A record with one is refused as a whole, again and again, and with it all behind it.
// Threads  pure function
#pragma once

#include <cstddef>
#include <vector>

#include "common/sample.hpp"

namespace wattle::wire {

// Makes what is NaN or infinite absent, or 0 where it cannot be; how many there were.
std::size_t make_finite(Record& record);
std::size_t make_finite(std::vector<ProbeValues>& probes);

}  // namespace wattle::wire
