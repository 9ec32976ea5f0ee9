#include "sim/scenarios/apps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace wattle::sim {

namespace {

constexpr double kServiceMiB = 1024.0 * 1024;
constexpr std::size_t kServices = 8;
constexpr std::size_t kWave = 60, kWaves = 2;  // slots
constexpr std::size_t kStable = 10;            // slots that scaling down looks back
constexpr double kTolerance = 0.1;

double busy_cores(const AppProfile& service, double per_s) {
  return per_s * service.request_share * service.work_core_s;
}

std::size_t wanted_replicas(const AppProfile& service, double per_s) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(busy_cores(service, per_s) / kReplicaTarget_cores)));
}

}  // namespace

std::vector<AppProfile> service_profiles(const Scenario& scenario, std::uint64_t seed) {
  constexpr std::array<double, 3> kRequests_cores{0.25, 0.5, 1.0};
  Random random(mix(seed, 0x7365727669636573ULL));
  std::vector<AppProfile> services(kServices);
  double shares = 0, work_core_s = 0;
  for (std::size_t i = 0; i < kServices; ++i) {
    AppProfile& service = services[i];
    service.name = "service-" + std::to_string(i);
    service.request = {kRequests_cores[pick(random, kRequests_cores.size())], 256 * kServiceMiB};
    service.latency_soft_ms = 1.25 * kServiceLatency_ms;
    service.serves_users = true;
    service.request_share = uniform(random, 0.5, 1.5);
    service.work_core_s = std::exp(0.5 * normal(random));
    shares += service.request_share;
    work_core_s += service.request_share * service.work_core_s;
  }
  const double most_cores = scenario.load_ratio * scenario.cores * static_cast<double>(scenario.nodes);
  for (AppProfile& service : services) {
    service.work_core_s *= most_cores / kMostRequests_per_s / (work_core_s / shares);
    service.request_share /= shares;
  }
  return services;
}

std::vector<double> request_rates(std::uint64_t seed) {
  Random random(mix(seed, 0x7261746573ULL));
  constexpr double kMiddle = (kLeastRequests_per_s + kMostRequests_per_s) / 2;
  std::vector<double> per_s{0};
  for (std::size_t slot = 1; slot <= kWave * kWaves; ++slot) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(slot) / static_cast<double>(kWave);
    const double rate = kMiddle - (kMostRequests_per_s - kMiddle) * std::cos(turn);
    per_s.push_back(std::clamp(rate * std::exp(0.08 * normal(random)), kLeastRequests_per_s, kMostRequests_per_s));
  }
  return per_s;
}

std::vector<Replica> scale(std::span<const AppProfile> services, std::span<const double> per_s) {
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  constexpr double kApart_s = 0.2;  // between replicas that are made at the same time
  std::vector<Replica> all;
  std::vector<std::vector<std::size_t>> alive(services.size());  // indices into all, newest last
  for (std::size_t slot = 0; slot < per_s.size(); ++slot) {
    double at_s = kDemandSlot_s * static_cast<double>(slot);
    for (std::size_t app = 0; app < services.size(); ++app) {
      const auto seen = [&](std::size_t at) { return std::max(per_s[at], kLeastRequests_per_s); };
      const std::size_t now = alive[app].size();
      std::size_t want = wanted_replicas(services[app], seen(slot > 0 ? slot - 1 : 0));
      const double off = static_cast<double>(want) / static_cast<double>(std::max<std::size_t>(1, now)) - 1;
      if (now > 0 && std::abs(off) <= kTolerance) continue;
      for (std::size_t back = 2; back <= kStable && back <= slot; ++back)
        want = std::max(want, std::min(now, wanted_replicas(services[app], seen(slot - back))));
      for (; alive[app].size() < want; at_s += kApart_s) {
        alive[app].push_back(all.size());
        all.push_back({at_s, kForEver, app});
      }
      for (; alive[app].size() > want; alive[app].pop_back()) {
        Replica& newest = all[alive[app].back()];
        newest.life_s = at_s - newest.at_s;
      }
    }
  }
  return all;
}

namespace {

constexpr double kMiB = 1024.0 * 1024;

AppProfile steady(const std::string& name, placement::Resources request) {
  AppProfile app;
  app.name = name;
  app.request = request;
  app.variability = 0.1;
  return app;
}

std::vector<AppProfile> drs_profiles() {
  AppProfile cpu = steady("cpu", {0.5, 128 * kMiB});
  cpu.demand_of_request = 0.9;
  AppProfile net = steady("net", {0.1, 128 * kMiB});
  net.io.net_rx = 3e6;
  net.io.net_tx = 8e6;
  AppProfile disk = steady("disk", {0.1, 256 * kMiB});
  disk.io.disk_read = 15e6;
  disk.io.disk_write = 25e6;
  return {cpu, net, disk};
}

AppProfile user_profile() {
  AppProfile app = steady("service", {0.5, 256 * kMiB});
  app.serves_users = true;
  app.latency_soft_ms = 20;
  return app;
}

AppProfile memory_profile(double life_s) {
  AppProfile app = steady("memory", {0, 2048 * kMiB});
  app.memory_spread = 0.35;
  app.memory_of_request = 0.95;
  app.demand_cores = 0.1;
  app.mean_life_s = life_s;
  return app;
}

struct Mean {
  double cores = 0, bytes = 0;
};

// Load of the applications on the fleet per arriving pod a second: request x life.
Mean load_of(const std::vector<AppProfile>& profiles) {
  Mean load;
  for (const AppProfile& app : profiles) {
    load.cores += app.request.cpu_cores * app.mean_life_s / static_cast<double>(profiles.size());
    load.bytes += app.request.memory_bytes * app.mean_life_s / static_cast<double>(profiles.size());
  }
  return load;
}

}  // namespace

WorkloadOptions workload_options(const Scenario& scenario) {
  WorkloadOptions options;
  options.demand_scale = scenario.demand_scale;
  options.life_scale = scenario.life_s / 2100;  // the profiles' mean
  options.endless = scenario.kind != Kind::churn;
  options.in_turn = scenario.apps == Apps::drs;
  return options;
}

std::vector<AppProfile> profiles_of(const Scenario& scenario, std::uint64_t apps_seed) {
  switch (scenario.apps) {
    case Apps::thesis:
      return {thesis_profile()};
    case Apps::drs:
      return drs_profiles();
    case Apps::users:
      return {user_profile()};
    case Apps::memory:
      return {memory_profile(scenario.life_s)};
    case Apps::services:
      return service_profiles(scenario, apps_seed);
    case Apps::mixed:
      break;
  }
  return mixed_profiles(workload_options(scenario), apps_seed);
}

double interval_s(const Scenario& scenario, const std::vector<AppProfile>& profiles,
                  const placement::Resources& fleet) {
  if (scenario.kind != Kind::churn) return scenario.interval_s;
  const Mean load = load_of(profiles);
  const double by_memory = load.bytes / (scenario.load_ratio * fleet.memory_bytes);
  return load.cores > 0 ? load.cores / (scenario.load_ratio * fleet.cpu_cores) : by_memory;
}

}  // namespace wattle::sim
