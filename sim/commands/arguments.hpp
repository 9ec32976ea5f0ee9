// arguments: options that several commands have, and the environment that they describe.
// Errors   malformed, not_found: names the option
// Threads  main thread
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "placement/worth/reward.hpp"
#include "sim/commands/typed.hpp"
#include "sim/env/env.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::commands {

// The arguments of a world, as the user typed them.
struct WorldArguments {
  std::string scenario = "churn_sleep";
  std::string preset = "weighted", load = "pods";
  std::vector<std::string> weights;  // "energy=1", for the preset `weighted`
  std::string trace_dir;
  std::optional<std::uint64_t> cluster_seed;
  std::size_t nodes = 0;       // 0: as in the scenario
  std::size_t placements = 0;  // 0: as in the scenario
  std::size_t look_ahead = 0;
  SchedulerOptions scheduler;
};
void add_world_options(CLI::App& app, WorldArguments& arguments);
// --look-ahead
void add_look_ahead_option(CLI::App& app, WorldArguments& arguments);
// --load
void add_load_option(CLI::App& app, std::string& load);
// Adds --extender-weight and --topology-spread.
void add_scheduler_options(CLI::App& app, SchedulerOptions& options);
Result<EnvOptions> env_options(const WorldArguments& arguments);

// Parses "energy=1".
Status set_weight(placement::RewardWeights& weights, const std::string& text);

}  // namespace wattle::sim::commands
