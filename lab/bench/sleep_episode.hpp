// sleep_episode: days of a cluster on which sleeping nodes are compared: pods that come and go with a daily wave and
// with bursts at the same times of each day.
// Pods     an episode of consolidation under churn, thinned to the wave; each burst adds pods for a share of the cores
//          that live half an hour on average
// Units    in names; seconds from midnight of the first day
// Errors   none
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

struct SleepEpisodeOptions {
  std::size_t nodes = 10;
  Side side = Side::report;
  double fill = 0.64;  // requested share of all cores at the wave's peak, on average
  double wave = 0.6;   // of that, gone at the wave's trough; 0: no wave
  double bursts_per_day = 3;
  double burst_share = 0.15;  // of all cores, requested by the pods of one burst
  double life_s = 7200;       // mean
  double warm_days = 2, days = 2;
};

struct Burst {
  double at_s = 0;
  std::vector<std::size_t> pods;  // of the episode
};

struct SleepEpisode {
  Episode cluster;  // pods by arrival
  std::vector<Burst> bursts;
  double measure_from_s = 0, end_s = 0;
};

SleepEpisode make_sleep_episode(const Dataset& data, const SleepEpisodeOptions& options, std::uint64_t seed);

}  // namespace wattle::sim::consolidation
