// machine: one server as the kernel needs it: cores, watts, sleep, and what pods do to each other on it.
// Units    in names; watts at 0, 10, ..., 100 % utilisation, linear between, utilisation held to 0..1
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
  double wake_time_s = 30, wake_energy_j = 3000;  // draws the one over the other while it wakes
  double blocked_cores = 0;                       // wanted by what never goes
  double crowded_ratio = 1;                       // wanted share of the cores from which pods wait for each other
  double waiting_times = 1;                       // pods wait so many times as long as the crowd alone would make them
  double interference = 0;  // pods want 1 + interference x (wanted share of the cores) times as much
};

}  // namespace wattle::sim::cluster
