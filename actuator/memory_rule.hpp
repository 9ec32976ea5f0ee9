// memory_rule: the memory.high of one workload, from its working set; let go at the first sign that it hurts.
//
//   target   the 95th percentile of the working sets of an hour, and a margin over it: 15%, or what the controller has chosen. Never below
//            what is worked on now
//   down     from what is used, by at most 5% a minute; nothing is limited before ten minutes were seen
//   up       at once
//   release  at once for pressure (some task waited 1% of the time, without what its CPU quota held it up: throttled_wait.hpp), refaults (1% of the working set's pages in a second) or an
//            allocation that memory.high held up; then nothing is limited for ten minutes
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
#include "models/provision/choice.hpp"

namespace wattle::actuator {

class MemoryRule {
 public:
  // What memory.high should be; absent: what was there before us. Called about each 5 s.
  std::optional<std::int64_t> observe(const MemoryUse& use, MonoTime now,
                                      double margin_ratio = models::provision::kRuleMemory);
  // At the last look.
  bool hurt() const { return hurt_; }
  double used_over_peak() const;  // over the most of ten minutes; 1 where nothing was seen

 private:
  bool hurts(const MemoryUse& use, MonoTime now) const;
  std::int64_t target_bytes(double margin_ratio) const;

  std::vector<std::uint64_t> working_sets_;  // a ring
  std::size_t next_ = 0;
  std::optional<MemoryUse> last_;
  MonoTime last_at_, begun_at_, stepped_at_;
  std::optional<std::int64_t> high_bytes_;
  bool hurt_ = false;
};

// What is told of a minute's memory.
class MemoryLooks {
 public:
  // `high_bytes`: absent: nothing is limited.
  void add(const MemoryUse& use, std::optional<std::int64_t> high_bytes, bool hurt);
  // The next minute begins. Absent: it was not looked at.
  std::optional<actuation::MinuteOfMemory> end_minute(double used_over_peak);

 private:
  std::uint64_t looks_ = 0, hurt_ = 0, used_bytes_ = 0;
  double granted_bytes_ = 0;
};

}  // namespace wattle::actuator
