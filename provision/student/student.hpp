// student: chooses the CPU limit of one workload every 100 ms from its usage and throttling.
//
//   base    mean of the last one-second usages, times 1 + margin; integral_rule.hpp moves the margin
//   boost   grows while the workload is throttled and decays afterwards; bound_boosts() limits the sum of all boosts
//   burst   unused quota that may accumulate over periods; at most the quota (the kernel refuses more with EINVAL)
//   writes  few: each one refills the quota (kernel/sched/core.c, tg_set_cfs_bandwidth) and so grants CPU time
//
// On each tick of a node, call observe() for each workload, bound_boosts() over their wishes, and decide() for each.
// Source   usage and nr_throttled of the workload's cgroup, as differences of two readings
// Units    cores; microseconds of CPU time per period of 100 ms, as in cpu.max and cpu.cfs_quota_us
// Errors   none: ignores impossible readings (no time has passed, usage negative or not finite)
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

struct StudentRules {
  std::size_t window_s = 10;       // number of one-second usages in the base, 1 to kMostWindow
  double first_boost_ratio = 0.2;  // boost at the first throttled tick, over the base
  double boost_growth = 2;         // per further throttled tick: ends an overload within a second
  double boost_decay = 0.2;        // per tick without throttling
  double most_boost_ratio = 16;    // over the base
  double burst_ratio = 1;          // over the quota without boost, 0 to 1; 0: no burst
  double up_step_ratio = 0.05;     // a limit is raised if it is too low by this much ...
  double down_step_ratio = 0.1;    // ... and lowered if it is too high by this much
  double least_cores = 0.05;
  double most_cores = 1e6;  // original limit, which is never exceeded
};
inline constexpr std::size_t kMostWindow = 60;

struct StudentReading {
  double elapsed_s = 0;  // since the last reading
  double used_s = 0;     // CPU time in this period
  bool throttled = false;
};

struct Wish {
  double base_cores = 0, boost_cores = 0;
};

class Student {
 public:
  explicit Student(const StudentRules& rules = {});

  // No value during the first second; then keep the limits unchanged.
  std::optional<Wish> observe(const StudentReading& reading, double margin_ratio);

  // Returns the limit to write, if any. `allowed` is the wish after bound_boosts; `set` is the limit in the files,
  // unset if they have none.
  std::optional<CpuLimit> decide(const Wish& allowed, const std::optional<CpuLimit>& set) const;

  const StudentRules& rules() const { return rules_; }

 private:
  std::optional<double> mean_usage_cores() const;

  StudentRules rules_;
  std::array<double, kMostWindow> usage_cores_{};  // ring buffer of one-second usages
  std::size_t next_ = 0, seen_ = 0;
  double second_s_ = 0, second_used_s_ = 0;  // current second
  double boost_cores_ = 0;
};

// Scales all boosts down by one factor, so that their sum is at most `headroom_cores`. Keeps the bases.
void bound_boosts(std::span<Wish> wishes, double headroom_cores);

// Cores that a node can give beyond current use: its idle cores, reduced as more tasks wait for CPU (the kernel's
// pressure, "some avg10"); none if tasks wait a tenth of the time or more.
double headroom_cores(double node_cores, double idle_ratio, double pressure_ratio);

}  // namespace wattle::actuator
