// compared_energy: modelled energy of the cluster since some moment, in reality and with all advice followed.
// Units    J, s
// Threads  value
#pragma once

#include <algorithm>
#include <cmath>

#include "placement/judge/advised_cluster.hpp"

namespace wattle::placement {

struct ComparedEnergy {
  double seconds = 0;
  double now_j = 0, advised_j = 0;
  // Adds `passed_s` seconds of this load. A longer gap counts as `longest_gap_s`, because the load in between is
  // unknown.
  void add(const ComparedLoad& load, double passed_s, double longest_gap_s) {
    const double dt_s = std::clamp(passed_s, 0.0, longest_gap_s);
    const double now = load.now.power_w * dt_s + load.now.wake_j;
    const double advised = load.advised.power_w * dt_s + load.advised.wake_j;
    if (!std::isfinite(now) || !std::isfinite(advised)) return;
    seconds += dt_s;
    now_j += now;
    advised_j += advised;
  }
};

}  // namespace wattle::placement
