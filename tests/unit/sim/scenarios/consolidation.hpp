// consolidation: small fixed parts that tests build their episodes from.
#pragma once

#include <initializer_list>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

inline const Dataset& data() {
  static const Dataset made = synthetic_dataset(3);
  return made;
}

// A linear curve; it sleeps at 2 W and takes half a minute to wake.
inline ServerModel server_of(double cores, double idle_w, double full_w) {
  ServerModel server;
  server.cores = cores;
  for (std::size_t i = 0; i < kWattPoints; ++i)
    server.watts[i] = idle_w + (full_w - idle_w) * static_cast<double>(i) / static_cast<double>(kWattPoints - 1);
  server.sleep_w = 2;
  server.wake_time_s = 30;
  server.wake_energy_j = 3000;
  return server;
}

// Pods with constant usage all day.
inline PodDay steady_day(std::initializer_list<float> cores_of_each) {
  PodDay day;
  day.name = "steady";
  for (const float cores : cores_of_each) {
    day.cores.emplace_back().fill(cores);
    day.mean_cores.push_back(static_cast<double>(cores));
    day.by_mean.push_back(day.by_mean.size());
  }
  return day;
}

}  // namespace wattle::sim::consolidation
