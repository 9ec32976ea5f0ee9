// captain: Autothrottle's fast loop of one service (Wang et al., NSDI 2024), each tick of 100 ms.
// Source   worker-daemon.py of microsoft/autothrottle: once a second the limit rises by the excess of the throttled
//          share over three targets, otherwise it falls towards the maximum usage of 5 s plus a margin of its
//          deviations, at most by half. A lowered limit that throttles at once is reverted
// Units    cores
// Errors   none
// Threads  values
#pragma once

#include <array>
#include <cstddef>

namespace wattle::sim::provision {

class Captain {
 public:
  Captain(double target, double first_cores) : target_(target), limit_(first_cores), last_limit_(first_cores) {}
  void set_target(double target) { target_ = target; }
  // Takes the tick's `throttled` periods and `usage_cores`; returns the limit.
  double tick(double throttled, double usage_cores);

 private:
  double throttled_ratio() const;

  double target_, limit_, last_limit_, margin_ = 3;
  bool lowered_ = false;
  std::array<double, 10> throttled_{};
  std::array<double, 50> usage_cores_{};
  std::size_t ticks_ = 0;
};

}  // namespace wattle::sim::provision
