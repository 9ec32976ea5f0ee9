#include "sim/scenarios/apps.hpp"

#include "sim/scenarios/services.hpp"

namespace wattle::sim {

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
