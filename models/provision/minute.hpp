// minute: what one service looked like in a minute, from what a node reads of it each 100 ms. Kept here once: who is taught and who
// runs on nodes see the same.
// Source   add() of each running copy of the service, end_tick() once they all are told, end_minute() when it is time
// Gives    a ServiceMinute without what a node cannot know (latency, rate) and without what its owner says (the rule's margin, the share of
//          memory in the cost, the time of day)
// Units    seconds, cores, GiB; ratios
// Errors   none: of a minute in which nothing was read, what stands for "as usual"
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "models/provision/choice.hpp"

namespace wattle::models::provision {

inline constexpr double kTickPeriodS = 0.1;  // of quotas

// What a limit gave: its cores over the time, and a period's quota with each write (kernel/sched/core.c, tg_set_cfs_bandwidth), which
// is at most that. For who is not told by a simulated kernel.
double granted_s(double limit_cores, double elapsed_s, std::uint64_t writes);

// Of one copy of the service, since the last tick.
struct CopyTick {
  double used_s = 0, granted_s = 0;
  bool throttled = false;
  bool runs = true;                          // false: only what it used and was granted counts
  double missed_ratio = 0, working_gib = 0;  // memory; 0 where it is left alone
};

class MinuteWatch {
 public:
  void add(const CopyTick& copy);
  void end_tick(double elapsed_s);

  // Of the minute under way.
  std::uint64_t ticks() const { return static_cast<std::uint64_t>(ticks_); }
  std::uint64_t throttled() const { return static_cast<std::uint64_t>(throttled_); }
  double used_s() const { return used_s_; }
  double used_cores() const { return seconds_ > 0 ? used_s_ / seconds_ : 0; }
  double granted_cores() const { return seconds_ > 0 ? granted_s_ / seconds_ : 0; }
  // The most of the last ten minutes, the last that ended included; absent before there are ten.
  std::optional<double> peak_gib() const;

  // `node_cores`: of each copy's node. The next minute begins.
  ServiceMinute end_minute(const Setting& now, double node_cores);

 private:
  void begin_minute();

  double ticks_ = 0, throttled_ = 0, used_s_ = 0, granted_s_ = 0, seconds_ = 0, missed_ = 0, working_gib_ = 0;
  double tick_used_s_ = 0;
  double second_used_s_ = 0, second_s_ = 0, peak_cores_ = 0, sum_cores_ = 0, sum_squares_ = 0, count_ = 0;
  double last_used_cores_ = 0;
  std::array<double, 10> working_sets_gib_{};  // a ring: the most of each of ten minutes
  std::size_t minutes_ = 0;
};

}  // namespace wattle::models::provision
