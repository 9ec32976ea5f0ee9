// student: the CPU limit of one workload, chosen each 100 ms from what it used and whether it was throttled.
//
//   base    mean of the last one-second usages, times 1 + margin; the margin is moved by integral_rule.hpp
//   boost   grows while the workload is throttled and decays after; a node bounds the sum of all boosts (bound_boosts)
//   burst   what may be saved up over periods, never above the quota (the kernel refuses that with EINVAL)
//   writes  few: each one refills the quota (kernel/sched/core.c, tg_set_cfs_bandwidth), so that it grants CPU time
//
// One tick of a node: observe() of each workload, bound_boosts() over their wishes, decide() of each.
// Source   usage and nr_throttled of the workload's cgroup, as differences of two readings
// Units    cores; microseconds of CPU time per period of 100 ms, as cpu.max and cpu.cfs_quota_us have them
// Errors   none: a reading that cannot be (no time has passed, usage below zero or of no finite number) is passed over
// Threads  values; no I/O, no clock
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wattle::actuator {

inline constexpr std::int64_t kPeriodUs = 100'000;

struct CpuLimit {
  std::int64_t quota_us = 0, burst_us = 0;  // burst_us <= quota_us
  double cores() const { return static_cast<double>(quota_us) / static_cast<double>(kPeriodUs); }
  friend bool operator==(const CpuLimit&, const CpuLimit&) = default;
};

// The kernel refuses a burst above the quota after each single write: when both fall, the burst goes first.
inline bool burst_goes_first(const CpuLimit& set, const CpuLimit& next) { return next.quota_us < set.burst_us; }

struct StudentRules {
  std::size_t window_s = 10;       // one-second usages in the base, 1 to kMostWindow
  double first_boost_ratio = 0.2;  // of the base: boost at the first throttled tick
  double boost_growth = 2;         // per further throttled tick: out of overload within a second
  double boost_decay = 0.2;        // per tick that was not throttled
  double most_boost_ratio = 16;    // of the base
  double burst_ratio = 1;          // of the quota without boost, 0 to 1; 0: no burst is set
  double up_step_ratio = 0.05;     // a limit is raised when it is that much too low ...
  double down_step_ratio = 0.1;    // ... and lowered when it is that much too high
  double least_cores = 0.05;
  double most_cores = 1e6;  // what the workload had before: it is never given more
};
inline constexpr std::size_t kMostWindow = 60;

struct StudentReading {
  double elapsed_s = 0;  // since the last one
  double used_s = 0;     // CPU time in it
  bool throttled = false;
};

struct Wish {
  double base_cores = 0, boost_cores = 0;
};

class Student {
 public:
  explicit Student(const StudentRules& rules = {});

  // Absent until one second has been seen, while nothing is to be changed.
  std::optional<Wish> observe(const StudentReading& reading, double margin_ratio);

  // What to write, if anything. `allowed` is the wish after bound_boosts; `set` is what stands in the files, absent where
  // they hold no limit.
  std::optional<CpuLimit> decide(const Wish& allowed, const std::optional<CpuLimit>& set) const;

  const StudentRules& rules() const { return rules_; }

 private:
  std::optional<double> mean_usage_cores() const;

  StudentRules rules_;
  std::array<double, kMostWindow> usage_cores_{};  // a ring of one-second usages
  std::size_t next_ = 0, seen_ = 0;
  double second_s_ = 0, second_used_s_ = 0;  // of the second that is under way
  double boost_cores_ = 0;
};

// Shrinks all boosts by one factor, so that they sum to `headroom_cores` at most. Bases stay.
void bound_boosts(std::span<Wish> wishes, double headroom_cores);

// What a node can give beyond what is used: its idle cores, less as more of its tasks wait for CPU (the kernel's
// pressure, "some avg10"); nothing from a tenth of the time on.
double headroom_cores(double node_cores, double idle_ratio, double pressure_ratio);

}  // namespace wattle::actuator
