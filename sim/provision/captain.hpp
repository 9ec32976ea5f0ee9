// captain: Autothrottle's fast loop of one service (Wang et al., NSDI 2024), each tick of 100 ms.
// Source   worker-daemon.py of microsoft/autothrottle: once a second the limit goes up by how much the share of throttled
//          periods exceeds three targets, else down towards the most usage of 5 s and a margin of its deviations, at most
//          by half; a limit that was lowered and throttles at once is taken back
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
  // `throttled` periods and `usage_cores` of the tick; gives the limit.
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
