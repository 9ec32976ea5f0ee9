// memory_rule: computes memory.high of one workload from its working set; releases it at the first sign of harm.
//
//   target   the 95th percentile of an hour's working sets plus a margin: 15%, or the controller's choice. Never below
//            the current working set
//   down     from the memory in use, by at most 5% per minute; no limit before ten minutes of observation
//   up       at once
//   release  at once on pressure (some task waited 1% of the time, not counting waits caused by its CPU quota:
//            throttled_wait.hpp), on refaults (1% of the working set's pages per second) or on an allocation that
//            memory.high delayed; then no limit for ten minutes
//
// Units    bytes; times of CLOCK_MONOTONIC
// Errors   none
// Threads  values; no I/O, no clock
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actuator/meter.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "provision/minute/choice.hpp"

namespace wattle::actuator {

class MemoryRule {
 public:
  // Returns the value for memory.high; unset: the original. Call about every 5 s.
  std::optional<std::int64_t> observe(const MemoryUse& use, MonoTime now,
                                      double margin_ratio = models::provision::kRuleMemory);
  // Returns whether memory was short at the last observation.
  bool hurt() const { return hurt_; }
  // Working set that was exceeded in a twentieth of the last hour; 0 without data.
  std::int64_t usual_bytes() const { return target_bytes(0); }
  double used_over_peak() const;  // working set over the largest of ten minutes; 1 without data

 private:
  bool hurts(const MemoryUse& use, MonoTime now) const;
  std::int64_t target_bytes(double margin_ratio) const;

  std::vector<std::uint64_t> working_sets_;  // ring buffer
  std::size_t next_ = 0;
  std::optional<MemoryUse> last_;
  MonoTime last_at_, begun_at_, stepped_at_;
  std::optional<std::int64_t> high_bytes_;
  bool hurt_ = false;
};

// Summarises one minute of a workload's memory.
class MemoryLooks {
 public:
  // `high_bytes` is unset while no limit is in force.
  void add(const MemoryUse& use, std::optional<std::int64_t> high_bytes, bool hurt);
  // Ends the minute; no value if it had no samples.
  std::optional<actuation::MinuteOfMemory> end_minute(double used_over_peak);

 private:
  std::uint64_t looks_ = 0, hurt_ = 0, used_bytes_ = 0;
  double granted_bytes_ = 0;
};

}  // namespace wattle::actuator
