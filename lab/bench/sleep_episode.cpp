#include "lab/bench/sleep_episode.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "sim/cluster/kernel.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr double kDay_s = 86'400;
constexpr double kPeak_s = 15 * 3600;  // of the wave
constexpr double kBurstLife_s = 1800;
constexpr double kBurstLasts_s = 60;  // its pods arrive within
constexpr double kBurstJitter_s = 120;

double wave_at(double depth, double at_s) {
  return 1 - depth * 0.5 * (1 - std::cos(2 * std::numbers::pi * (at_s - kPeak_s) / kDay_s));
}

}  // namespace

SleepEpisode make_sleep_episode(const Dataset& data, const SleepEpisodeOptions& options, std::uint64_t seed) {
  Options churn;
  churn.nodes = options.nodes;
  churn.churn = true;
  churn.side = options.side;
  churn.churn_fill = options.fill;
  churn.life_s = options.life_s;
  churn.warm_s = options.warm_days * kDay_s;
  churn.measure_s = options.days * kDay_s;
  churn.cluster_seed = seed;
  SleepEpisode made;
  made.cluster = make_episode(data, churn, seed);
  made.measure_from_s = churn.warm_s;
  made.end_s = churn.warm_s + churn.measure_s;
  Random random(mix(seed, 0x736c6565ULL));
  std::erase_if(made.cluster.pods,
                [&](const Pod& pod) { return uniform(random) >= wave_at(options.wave, pod.arrives_s); });

  std::vector<std::pair<Pod, std::size_t>> all;  // with its burst; no burst: kNowhere
  for (const Pod& pod : made.cluster.pods) all.emplace_back(pod, sim::cluster::kNowhere);
  const std::vector<Pod> patterns = made.cluster.pods;
  const double burst_cores = options.burst_share * made.cluster.total_cores();
  for (int of_day = 0; of_day < static_cast<int>(options.bursts_per_day) && !patterns.empty(); ++of_day) {
    const double time_of_day_s = uniform(random, 3600.0, kDay_s - 3600.0);
    for (double day = 0; day < options.warm_days + options.days; ++day) {
      const double at_s = day * kDay_s + time_of_day_s + uniform(random, -kBurstJitter_s, kBurstJitter_s);
      const std::size_t burst = made.bursts.size();
      made.bursts.push_back({at_s, {}});
      for (double cores = 0; cores < burst_cores;) {
        Pod pod = patterns[pick(random, patterns.size())];
        pod.arrives_s = at_s + uniform(random, 0.0, kBurstLasts_s);
        pod.life_s = std::max(60.0, exponential(random, kBurstLife_s));
        cores += pod.request.cpu_cores;
        all.emplace_back(pod, burst);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.arrives_s < b.first.arrives_s; });
  made.cluster.pods.clear();
  for (const auto& [pod, burst] : all) {
    if (burst != sim::cluster::kNowhere) made.bursts[burst].pods.push_back(made.cluster.pods.size());
    made.cluster.pods.push_back(pod);
  }
  return made;
}

}  // namespace wattle::sim::consolidation
