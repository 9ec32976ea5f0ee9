// arguments: options that several commands have, and the environment that they describe.
// Errors   malformed, not_found: names the option
// Threads  main thread
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/rate_trace.hpp"
#include "common/result.hpp"
#include "placement/worth/reward.hpp"
#include "sim/commands/typed.hpp"
#include "sim/env/env.hpp"
#include "sim/provision/world.hpp"

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
};
void add_world_options(CLI::App& app, WorldArguments& arguments);
// --look-ahead
void add_look_ahead_option(CLI::App& app, WorldArguments& arguments);
// --load
void add_load_option(CLI::App& app, std::string& load);
Result<EnvOptions> env_options(const WorldArguments& arguments);

// The same for a provisioning world; also the traces' files.
struct ProvisionWorldArguments {
  std::vector<std::string> trace_files;
  double scale = 1, target_ms = 100, work_ms = 4;
  std::size_t services = 1, minutes = 60;
  std::uint64_t synthetic_seed = 1;
};

void add_provision_options(CLI::App& app, ProvisionWorldArguments& arguments);
Result<std::vector<RateTrace>> provision_traces(const ProvisionWorldArguments& arguments);
provision::WorldOptions provision_world(const ProvisionWorldArguments& arguments);

// Parses "energy=1".
Status set_weight(placement::RewardWeights& weights, const std::string& text);

}  // namespace wattle::sim::commands
