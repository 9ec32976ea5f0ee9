// machine: one server of the kernel: cores, power curve, sleep, and the effect of its pods on each other.
// Units    in names; watts at 0, 10, ..., 100 % utilisation, linear between, utilisation clamped to 0..1
// Errors   none
// Threads  values, pure functions
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace wattle::sim::cluster {

inline constexpr std::size_t kWattPoints = 11;
using Watts = std::array<double, kWattPoints>;

inline double watts_at(const Watts& watts, double utilisation) {
  const double at = std::clamp(utilisation, 0.0, 1.0) * static_cast<double>(kWattPoints - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kWattPoints - 2);
  const double part = at - static_cast<double>(low);
  return watts[low] + part * (watts[low + 1] - watts[low]);
}

struct Machine {
  double cores = 16;
  Watts watts{};
  double sleep_w = 3;
  double wake_time_s = 30, wake_energy_j = 3000;  // the energy is drawn evenly over the wake time
  double blocked_cores = 0;                       // wanted by permanent load
  double crowded_ratio = 1;                       // wanted share of the cores above which pods wait for each other
  double waiting_times = 1;                       // factor on the waiting that crowding causes
};

}  // namespace wattle::sim::cluster
