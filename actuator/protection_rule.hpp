// protection_rule: computes memory.low of one workload, so that the kernel reclaims other memory first.
//
//   target   the 95th percentile of an hour's working sets (memory_rule), at most the bytes that the caller allows
//   up       by a fifth of the target per minute, from nothing
//   down     by at most 5% per minute
//   broken   after a minute in which the kernel reclaimed protected pages (memory.events, low) it falls by 5%: no other
//            memory was left, so more is protected than fits
//
// Units    bytes; times of CLOCK_MONOTONIC
// Errors   none
// Threads  values; no I/O, no clock
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.hpp"

namespace wattle::actuator {

class ProtectionRule {
 public:
  // Returns the value for memory.low; 0 during the first minute. `low_events`: cumulative count of the workload.
  std::int64_t observe(std::uint64_t low_events, std::int64_t usual_bytes, std::int64_t most_bytes, MonoTime now);

 private:
  std::optional<std::uint64_t> low_events_;  // at the last step
  MonoTime stepped_at_;
  std::int64_t bytes_ = 0;
};

}  // namespace wattle::actuator
