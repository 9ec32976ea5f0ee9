// commands: the subcommands in the table of all.cpp, one file each. argv[0] is the subcommand; returns the exit code.
// Threads  main thread
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "placement/worth/reward.hpp"
#include "sim/app.hpp"
#include "sim/commands/typed.hpp"
#include "sim/episode/env.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::commands {

std::span<const Subcommand> all();  // the subcommands of wattle-sim

int adapt(int argc, char** argv);
int bench(int argc, char** argv);
int bench_suite(int argc, char** argv);  // all scenarios
int env(int argc, char** argv);
int ablate(int argc, char** argv);  // settings of online learning; `ablate consolidation`: of imitation
int scenarios(int argc, char** argv);
int eval(int argc, char** argv);
int improve(int argc, char** argv);  // from recorded days
int labels(int argc, char** argv);
int teach(int argc, char** argv);  // the network that steers provisioning
int train(int argc, char** argv);  // in the simulated loop; `train consolidation`: train_imitate
int online(int argc, char** argv);
int profile(int argc, char** argv);
int provision(int argc, char** argv);
int provision_env(int argc, char** argv);
int requests(int argc, char** argv);
int shadow(int argc, char** argv);
int speed(int argc, char** argv);
int sweep(int argc, char** argv);
int train_imitate(int argc, char** argv);  // from labels

// Options common to several commands, as typed.
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
