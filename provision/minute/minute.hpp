// minute: summarises a service's minute from readings every 100 ms. Training and nodes share it, so that both see the
// same.
// Source   add() for each running copy of the service, end_tick() after all of them, end_minute() once per minute
// Gives    a ServiceMinute without fields that a node does not know (latency, rate) and fields that the caller sets
//          (the rule's margin, memory's part of the cost, the time of day)
// Units    seconds, cores, GiB; ratios
// Errors   none: a minute without readings gives neutral values
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

inline constexpr double kTickPeriodS = 0.1;  // period of quotas

// Upper bound of the CPU time that a limit granted: its cores over the time, plus a full quota per write
// (kernel/sched/core.c, tg_set_cfs_bandwidth). The simulated kernel reports the exact value instead.
double granted_s(double limit_cores, double elapsed_s, std::uint64_t writes);

// Readings of one copy of the service since the last tick.
struct CopyTick {
  double used_s = 0, granted_s = 0;
  bool throttled = false;
  bool runs = true;                          // false: only used_s and granted_s count
  double missed_ratio = 0, working_gib = 0;  // memory; 0 if it is not managed
};

class MinuteWatch {
 public:
  void add(const CopyTick& copy);
  void end_tick(double elapsed_s);

  // Figures of the current minute.
  std::uint64_t ticks() const { return static_cast<std::uint64_t>(ticks_); }
  std::uint64_t throttled() const { return static_cast<std::uint64_t>(throttled_); }
  double used_s() const { return used_s_; }
  double used_cores() const { return seconds_ > 0 ? used_s_ / seconds_ : 0; }
  double granted_cores() const { return seconds_ > 0 ? granted_s_ / seconds_ : 0; }
  // Maximum of the last ten finished minutes; no value before there are ten.
  std::optional<double> peak_gib() const;

  // Ends the minute and starts the next. `node_cores`: cores of each copy's node.
  ServiceMinute end_minute(const Setting& now, double node_cores);

 private:
  void begin_minute();

  double ticks_ = 0, throttled_ = 0, used_s_ = 0, granted_s_ = 0, seconds_ = 0, missed_ = 0, working_gib_ = 0;
  double tick_used_s_ = 0;
  double second_used_s_ = 0, second_s_ = 0, peak_cores_ = 0, sum_cores_ = 0, sum_squares_ = 0, count_ = 0;
  double last_used_cores_ = 0;
  std::array<double, 10> working_sets_gib_{};  // ring buffer: maximum of each of ten minutes
  std::size_t minutes_ = 0;
};

}  // namespace wattle::models::provision
