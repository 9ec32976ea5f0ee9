#include "sim/scenarios/consolidation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

constexpr std::size_t kSyntheticServers = 200;
constexpr std::size_t kSyntheticMachines = 1000;
constexpr std::size_t kSyntheticDays = 4;
constexpr std::size_t kEpisodeExpectations = 65;
constexpr std::size_t kSyntheticSizes = 400;
constexpr std::size_t kSizeDraws = 100;
constexpr double kLongestMeanLife_s = 86400;
constexpr double kCrowdedUse = 2, kAskedSpread = 0.7;

PodDay pod_day(const DemandDay& day, double scale) {
  PodDay out;
  out.name = day.name;
  for (const auto& machine : day.machines) {
    std::array<float, kDaySamples>& cores = out.cores.emplace_back();
    double sum = 0;
    for (std::size_t i = 0; i < kDaySamples; ++i) {
      cores[i] = static_cast<float>(std::min(kPodRequest.cpu_cores, scale * static_cast<double>(machine[i]) / 100));
      sum += static_cast<double>(cores[i]);
    }
    out.mean_cores.push_back(sum / static_cast<double>(kDaySamples));
  }
  out.by_mean.resize(out.cores.size());
  std::iota(out.by_mean.begin(), out.by_mean.end(), std::size_t{0});
  std::stable_sort(out.by_mean.begin(), out.by_mean.end(),
                   [&](std::size_t a, std::size_t b) { return out.mean_cores[a] < out.mean_cores[b]; });
  return out;
}

Dataset split(const std::vector<ServerModel>& servers, const std::vector<DemandDay>& days,
              const std::vector<PodSize>& sizes, double scale) {
  Dataset data;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    (i % 2 == 0 ? data.train_sizes : data.report_sizes).push_back(sizes[i]);
  for (std::size_t i = 0; i < servers.size(); ++i)
    (i % 2 == 0 ? data.train_servers : data.report_servers).push_back(servers[i]);
  for (std::size_t i = 0; i < days.size(); ++i)
    (i < days.size() / 2 ? data.train_days : data.report_days).push_back(pod_day(days[i], scale));
  return data;
}

struct App {
  double popularity = 1, rank = 0.5, life_s = 3600;
  placement::Resources request = kPodRequest;
  double times = 1;
};

std::vector<App> make_apps(const Options& options, Random& random) {
  std::vector<App> apps(options.apps);
  double life_s = 0, popularity = 0;
  for (std::size_t a = 0; a < apps.size(); ++a) {
    apps[a].popularity = exponential(random, 1.0);
    apps[a].rank = (static_cast<double>(a) + 0.5) / static_cast<double>(apps.size());
    apps[a].life_s = std::exp(0.7 * normal(random));
    life_s += apps[a].popularity * apps[a].life_s;
    popularity += apps[a].popularity;
  }
  for (App& app : apps) app.life_s *= options.life_s * popularity / life_s;
  return apps;
}

// Sets requests and lifetimes from a production cluster; at least half of the servers have room for each.
void give_sizes(std::vector<App>& apps, const std::vector<PodSize>& sizes, const std::vector<ServerModel>& servers,
                Random& random) {
  double mean_cores = 0;
  for (const ServerModel& server : servers) mean_cores += server.cores / static_cast<double>(servers.size());
  for (App& app : apps) {
    for (std::size_t tries = 0; tries < kSizeDraws; ++tries) {
      const PodSize& size = sizes[pick(random, sizes.size())];
      const double cores = size.share_of_node * mean_cores;
      const placement::Resources request{cores, cores * size.bytes_per_core};
      const auto room = std::count_if(servers.begin(), servers.end(), [&](const ServerModel& server) {
        return request.cpu_cores <= server.cores && request.memory_bytes <= server.memory_bytes;
      });
      if (2 * static_cast<std::size_t>(room) < servers.size()) continue;
      app.request = request;
      app.times = cores;
      app.life_s = std::min(size.life_s, kLongestMeanLife_s);
      break;
    }
  }
}

void crowd(std::vector<App>& apps, Random& random) {
  for (App& app : apps)
    app.times *= kCrowdedUse * std::exp(kAskedSpread * normal(random) - 0.5 * kAskedSpread * kAskedSpread);
}

// Core-seconds that a pod requests over its life.
double mean_core_s(const std::vector<App>& apps) {
  double core_s = 0, popularity = 0;
  for (const App& app : apps) {
    core_s += app.popularity * app.request.cpu_cores * app.life_s;
    popularity += app.popularity;
  }
  return core_s / popularity;
}

placement::Resources mean_request(const std::vector<App>& apps) {
  placement::Resources sum;
  double popularity = 0;
  for (const App& app : apps) {
    sum.cpu_cores += app.popularity * app.request.cpu_cores;
    sum.memory_bytes += app.popularity * app.request.memory_bytes;
    popularity += app.popularity;
  }
  return {sum.cpu_cores / popularity, sum.memory_bytes / popularity};
}

std::size_t draw_app(const std::vector<App>& apps, Random& random) {
  double total = 0;
  for (const App& app : apps) total += app.popularity;
  double at = uniform(random) * total;
  for (std::size_t a = 0; a + 1 < apps.size(); ++a) {
    at -= apps[a].popularity;
    if (at < 0) return a;
  }
  return apps.size() - 1;
}

std::size_t draw_machine(const App& app, const PodDay& day, double spread, Random& random) {
  double rank = app.rank + spread * normal(random);
  rank = std::abs(rank);
  if (rank > 1) rank = 2 - rank;
  const auto n = static_cast<double>(day.by_mean.size());
  return day.by_mean[static_cast<std::size_t>(std::clamp(rank * n, 0.0, n - 1))];
}

// The steady state's number of requested cores: Poisson, approximated by its normal limit.
std::vector<double> steady_state(double cores) {
  std::vector<double> expected;
  for (std::size_t i = 0; i < kEpisodeExpectations; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(kEpisodeExpectations);
    // Inverse of the logistic function that is closest to the normal one.
    expected.push_back(std::max(1.0, cores + std::sqrt(cores) * std::log(p / (1 - p)) / 1.702));
  }
  return expected;
}

}  // namespace

std::string_view to_string(ClusterModel cluster_model) {
  switch (cluster_model) {
    case ClusterModel::truth:
      return "oracle";
    case ClusterModel::production:
      return "production";
    case ClusterModel::pods:
      break;
  }
  return "pods";
}

double Episode::total_cores() const {
  double cores = 0;
  for (const ServerModel& server : servers) cores += server.cores;
  return cores;
}

double Episode::slots(std::size_t node) const {
  return std::floor(std::min({servers[node].cores / kPodRequest.cpu_cores,
                              servers[node].memory_bytes / kPodRequest.memory_bytes, 110.0}) +
                    1e-9);
}

placement::AppKey Episode::key_of(std::size_t app) const { return apps.empty() ? app_key(app) : apps[app]; }

placement::AppKey app_key(std::size_t app) {
  return {"deployment/app-" + std::to_string(app), "image-" + std::to_string(app / 3), ""};
}

cluster::Pairs pairs_of(std::size_t apps, double strength) {
  constexpr std::uint64_t kPairs = 0x7061697273ULL;
  cluster::Pairs pairs(apps);
  for (std::size_t a = 0; a < apps; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (unit_of(mix(mix(kPairs, a), b)) < kPairShare) pairs.disturb(a, b, strength);
  return pairs;
}

Result<Dataset> load_dataset(const std::string& trace_dir, double demand_scale) {
  WATTLE_TRY(const auto servers, load_servers(trace_dir));
  WATTLE_TRY(const auto days, load_days(trace_dir));
  WATTLE_TRY(const auto sizes, load_pod_sizes(trace_dir));
  if (servers.size() < 4 || days.size() < 2)
    return fail(Errc::out_of_range, trace_dir, "has too little to split into training and reporting",
                "at least 4 servers and 2 days");
  Dataset data = split(servers, days, sizes, demand_scale);
  data.origin = trace_dir;
  return data;
}

Dataset synthetic_dataset(double demand_scale) {
  std::vector<DemandDay> days;
  for (std::size_t i = 0; i < kSyntheticDays; ++i) days.push_back(synthetic_day(kSyntheticMachines, 100 + i));
  Dataset data =
      split(synthetic_fleet(kSyntheticServers, 100), days, synthetic_pod_sizes(kSyntheticSizes, 100), demand_scale);
  data.origin = "synthetic";
  return data;
}

double server_w(const ServerModel& server, bool sleeps, std::size_t pods, double used_cores) {
  if (pods == 0) return sleeps ? server.sleep_w : server.watts[0];
  return server.watts_at(used_cores / server.cores);
}

Episode make_episode(const Dataset& data, const Options& options, std::uint64_t seed) {
  const bool report = options.side == Side::report;
  const auto& days = report ? data.report_days : data.train_days;
  assert(!days.empty() && !data.train_days.empty() && options.nodes > 0 && options.apps > 0);
  Episode episode;
  episode.options = options;
  episode.seed = seed;
  Random random(mix(seed, 0x7838ULL));
  episode.servers = draw_fleet(report ? data.report_servers : data.train_servers, options.nodes,
                               mix(options.cluster_seed.value_or(seed), 1))
                        .value();
  episode.day = &days[seed % days.size()];
  // A day other than the simulated one, if there is one.
  const PodDay& past = data.train_days[report ? data.train_days.size() - 1 : (seed + 1) % data.train_days.size()];
  Random apps_random(mix(options.cluster_seed.value_or(0), 0x61707073ULL));
  Random& of_apps = options.cluster_seed ? apps_random : random;
  std::vector<App> apps = make_apps(options, of_apps);
  const auto& sizes = report ? data.report_sizes : data.train_sizes;
  assert(options.sizes == Sizes::one_core || !sizes.empty());
  if (options.sizes == Sizes::openb) give_sizes(apps, sizes, episode.servers, of_apps);
  if (options.crowded) crowd(apps, of_apps);

  const double cores = episode.total_cores();
  double room = 0;
  for (std::size_t i = 0; i < episode.servers.size(); ++i) room += episode.slots(i);
  const double fill = uniform(random, options.fill_low, options.fill_high);
  const double wanted = std::min(room, std::max(1.0, std::floor(fill * cores)));
  const auto add_pod = [&](std::size_t app, std::size_t machine, double at_s, double life_s) {
    episode.pods.push_back({app, machine, at_s, life_s, apps[app].request, apps[app].times});
  };
  if (!options.churn) {
    for (double requested = 0; requested < wanted;) {
      const std::size_t app = draw_app(apps, random);
      const std::size_t machine = draw_machine(apps[app], *episode.day, options.app_spread, random);
      add_pod(app, machine, options.interval_s * static_cast<double>(episode.pods.size()),
              std::numeric_limits<double>::infinity());
      requested += apps[app].request.cpu_cores;
    }
    episode.measure_from_s = options.interval_s * static_cast<double>(episode.pods.size());
    episode.end_s = episode.measure_from_s + kSample_s * static_cast<double>(kDaySamples);
    for (std::size_t i = 0; i < kEpisodeExpectations; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(kEpisodeExpectations - 1);
      const double reported = options.fill_low + part * (options.fill_high - options.fill_low);
      episode.expected_cores.push_back(std::min(room, reported * cores));
    }
  } else {
    episode.measure_from_s = options.warm_s;
    episode.end_s = options.warm_s + options.measure_s;
    const double concurrent = options.churn_fill * cores;
    if (options.sizes != Sizes::one_core) episode.mean_request = mean_request(apps);
    const double core_s = options.sizes == Sizes::one_core ? options.life_s : mean_core_s(apps);
    for (double at_s = 0; at_s < episode.end_s;) {
      const double rate = options.experience.wave ? arrivals_at(at_s) : 1;
      at_s += exponential(random, core_s / concurrent / rate);
      const std::size_t app = draw_app(apps, random);
      const std::size_t machine = draw_machine(apps[app], *episode.day, options.app_spread, random);
      const double life_s = std::max(60.0, exponential(random, apps[app].life_s));
      if (at_s < episode.end_s) add_pod(app, machine, at_s, life_s);
    }
    episode.expected_cores = steady_state(concurrent);
  }

  // The history before today: an hour of each past pod.
  std::vector<double> demand;
  for (std::size_t a = 0; a < apps.size(); ++a) {
    for (std::size_t k = 0; k < options.past_pods; ++k) {
      const std::size_t machine = draw_machine(apps[a], past, options.app_spread, random);
      const std::size_t from = pick(random, kDaySamples - 12);
      double sum = 0;
      for (std::size_t i = 0; i < 12; ++i) sum += static_cast<double>(past.cores[machine][from + i]);
      episode.past_pods.push_back(
          {a, apps[a].times * sum / 12, std::max(60.0, exponential(random, apps[a].life_s)), apps[a].request});
    }
  }
  for (std::size_t i = 0; i < 1000; ++i)
    demand.push_back(past.mean_cores[draw_machine(apps[draw_app(apps, random)], past, options.app_spread, random)]);
  std::sort(demand.begin(), demand.end());
  for (std::size_t i = 0; i < 50; ++i) episode.expected_demand.push_back(demand[20 * i + 10]);
  return episode;
}

}  // namespace wattle::sim::consolidation
