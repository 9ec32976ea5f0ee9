#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/bench/bench.hpp"
#include "lab/commands/commands.hpp"
#include "models/frozen/layout.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"

namespace wattle::sim::commands {

namespace {

struct SpeedArguments {
  std::vector<std::size_t> nodes{100};
  std::vector<std::string> rules{"kube-default", "most-allocated", "round-robin", "amortised",
                                 "greedy",       "peaks",          "planner",     "dqn"};
  std::string model_file;
  double seconds = 2;
  bool plan = true;
};

struct Spent {
  double cpu_s = 0, peak_mib = 0;
};
Spent spent() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return {s(usage.ru_utime) + s(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

placement::Fleet fleet_of(std::size_t nodes) {
  placement::Fleet fleet;
  for (const ServerModel& server : synthetic_fleet(nodes, 1)) {
    placement::FleetNode node;
    node.allocatable = {server.cores, server.memory_bytes};
    node.sleep_w = server.sleep_w;
    node.wake_j = server.wake_energy_j;
    node.watts = server.watts;
    fleet.nodes.push_back(node);
  }
  for (int i = 0; i < 10; ++i) fleet.expected_demand.push_back(0.05 + 0.05 * i);
  fleet.revision = 1;
  return fleet;
}

// Places pods of one core, half of them used, until two thirds of the fleet are requested; then empties it and repeats.
void measure(placement::Policy& policy, std::size_t nodes, double seconds_wanted) {
  placement::Fleet fleet = fleet_of(nodes);
  double cores = 0;
  for (const placement::FleetNode& node : fleet.nodes) cores += node.allocatable.cpu_cores;
  for (const double share : {0.5, 0.6, 0.67}) fleet.expected_cores.push_back(share * cores);
  const placement::PodEstimate ask{{1, 256.0 * 1024 * 1024}, 0.25, 86'400};
  const placement::Fleet empty = fleet;
  policy.prepare(fleet);
  const double begun_s = spent().cpu_s;
  double taken_s = 0;
  std::uint64_t placements = 0;
  double requested = 0;
  while (taken_s < seconds_wanted) {
    // Reading the clock costs as much as a quick decision, so it is read rarely.
    const std::uint64_t until = placements + std::max<std::uint64_t>(1, 100'000 / nodes);
    for (; placements < until; ++placements) {
      const auto node = requested < 0.67 * cores ? placement::choose(policy, fleet, ask) : std::nullopt;
      if (!node) {
        fleet = empty;
        requested = 0;
        continue;
      }
      placement::FleetNode& chosen = fleet.nodes[*node];
      chosen.requested.cpu_cores += ask.request.cpu_cores;
      chosen.requested.memory_bytes += ask.request.memory_bytes;
      chosen.used_cores += ask.demand_cores;
      ++chosen.pods;
      requested += ask.request.cpu_cores;
    }
    taken_s = spent().cpu_s - begun_s;
  }
  const double each_s = taken_s / static_cast<double>(placements);
  std::printf("%-16s %7zu nodes  %10.0f placements/s  %9.2f us each  %7.1f ns per node  peak %.0f MiB\n",
              std::string(policy.name()).c_str(), nodes, 1 / each_s, 1e6 * each_s,
              1e9 * each_s / static_cast<double>(nodes), spent().peak_mib);
  std::fflush(stdout);
}

Status run(const SpeedArguments& arguments) {
  consolidation::BenchOptions options;
  options.learned.plan = arguments.plan;
  if (arguments.model_file.empty()) {
    WATTLE_TRY(options.network, models::FrozenNetwork::from_weights(models::initial_weights(1), 0, "initial weights"));
  } else {
    WATTLE_TRY(options.network, read_network(arguments.model_file));
  }
  for (const std::size_t nodes : arguments.nodes)
    for (const std::string& name : arguments.rules) {
      WATTLE_TRY(const auto policy, consolidation::make_fleet_policy(name, 1, options));
      measure(*policy, nodes, arguments.seconds);
    }
  return {};
}

}  // namespace

int speed(int argc, char** argv) {
  SpeedArguments arguments;
  CLI::App app{"Measure placements per second of processor time for each policy, on one core", "wattle-lab speed"};
  app.add_option("--nodes", arguments.nodes, "sizes of the fleet")->delimiter(',')->check(CLI::Range(1, 1'000'000));
  app.add_option("--rules", arguments.rules, "which")->delimiter(',')->capture_default_str();
  app.add_option("--model", arguments.model_file,
                 "safetensors file of dqn (default: initial weights, which are as fast)");
  app.add_flag("--plan,!--no-plan", arguments.plan,
               "dqn with its plan, as in the controller (the default), or without");
  app.add_option("--seconds", arguments.seconds, "seconds of processor time for each")->check(CLI::Range(0.1, 600.0));
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
