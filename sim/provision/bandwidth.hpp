// bandwidth: models the CPU time that the kernel's CFS bandwidth control grants to one cgroup.
// Source   kernel/sched/fair.c (__refill_cfs_bandwidth_runtime, do_sched_cfs_period_timer), core.c
//          (tg_set_cfs_bandwidth): a period adds the quota, savings are at most quota + burst. Each write of quota or
//          burst refills like a period and lets a throttled cgroup run at once. nr_throttled counts periods that end
//          throttled
// Omits    the slices of 5 ms that each CPU takes in advance, and the up to 1 ms of each that it keeps
// Gives    granted: time from periods and writes; a write counts the time that it adds
// Units    seconds of CPU time; quota and burst in microseconds per period of 100 ms
// Errors   set_quota, set_burst: out_of_range where the kernel returns EINVAL, without a change
// Threads  values
#pragma once

#include <cstdint>
#include <optional>

#include "common/result.hpp"
#include "provision/student/student.hpp"

namespace wattle::sim::provision {

inline constexpr double kPeriodS = static_cast<double>(actuator::kPeriodUs) * 1e-6;
inline constexpr double kTiny = 1e-10;  // seconds; smaller amounts are rounding

class Bandwidth {
 public:
  // No value: no limit.
  Status set_quota(std::optional<std::int64_t> quota_us);
  Status set_burst(std::int64_t burst_us);
  // Sets both in the order that the kernel accepts. Skips unchanged values.
  Status set(const actuator::CpuLimit& limit);

  void begin_period();
  // Replaces the refill of a period that has just begun with a limit for this period only.
  void grant_period(double seconds);
  void use(double seconds) {
    used_s_ += seconds;
    if (quota_us_) left_s_ -= seconds;
  }

  bool limited() const { return quota_us_.has_value(); }
  double left_s() const { return left_s_; }  // requires limited()
  bool empty() const { return quota_us_ && left_s_ <= kTiny; }
  std::optional<actuator::CpuLimit> limit() const;

  double used_s() const { return used_s_; }
  double granted_s() const { return granted_s_; }  // requires limited()
  std::uint64_t writes() const { return writes_; }

 private:
  double quota_s() const { return static_cast<double>(*quota_us_) * 1e-6; }
  void refill(bool period);

  std::optional<std::int64_t> quota_us_;
  std::int64_t burst_us_ = 0;
  double left_s_ = 0, used_s_ = 0, granted_s_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace wattle::sim::provision
