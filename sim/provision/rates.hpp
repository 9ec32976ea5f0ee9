// rates: draws request rates, second by second.
// Units    requests/s
// Errors   none
// Threads  values
#pragma once

#include <cstdint>
#include <vector>

#include "common/rate_trace.hpp"

namespace wattle::sim::provision {

// Synthetic traces of about 130 requests/s: diurnal (slow swings), noisy (each second another rate around one mean),
// bursty (calm with bursts of some minutes of up to three times as much) and step (four times as much at once, and
// back).
std::vector<RateTrace> synthetic_rates(std::uint64_t seed, std::size_t seconds);

}  // namespace wattle::sim::provision
