// compared_energy: what a cluster drew by the model since some moment, and had advice been followed from then on.
// Units    J, s
// Threads  value
#pragma once

#include <algorithm>
#include <cmath>

#include "placement/advised_cluster.hpp"

namespace wattle::placement {

struct ComparedEnergy {
  double seconds = 0;
  double now_j = 0, advised_j = 0;
  // As it has been for so many seconds; beyond `longest_gap_s` nothing is known of the time between.
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
