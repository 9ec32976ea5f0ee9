// finite: removes NaN and infinite numbers from a record. Every peer would refuse the record again and again, and
// all records after it.
// Threads  pure function
#pragma once

#include <cstddef>
#include <vector>

#include "common/sample.hpp"

namespace wattle::wire {

// Unsets values that are not finite, or sets them to 0 if they cannot be unset. Returns their number.
std::size_t make_finite(Record& record);
std::size_t make_finite(std::vector<ProbeValues>& probes);

}  // namespace wattle::wire
