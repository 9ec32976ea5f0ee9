// commands: what the table in app.cpp calls; one file each. argv[0] is the subcommand; returns the exit code.
// Threads  main thread
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "placement/reward.hpp"
#include "sim/env.hpp"

namespace wattle::sim::commands {

int adapt(int argc, char** argv);
int bench(int argc, char** argv);
int bench_suite(int argc, char** argv);  // all scenarios
int env(int argc, char** argv);
int ablate(int argc, char** argv);  // settings of online learning; `ablate x8`: of imitation
int scenarios(int argc, char** argv);
int eval(int argc, char** argv);
int labels(int argc, char** argv);
int train(int argc, char** argv);  // in the simulated loop; `train x8`: the next
int online(int argc, char** argv);
int speed(int argc, char** argv);
int sweep(int argc, char** argv);
int train_x8(int argc, char** argv);  // from labels

// What several commands take; as typed.
struct WorldArguments {
  std::string scenario = "churn_sleep";
  std::string preset = "weighted";
  std::vector<std::string> weights;  // "energy=1", of the preset `weighted`
  std::string trace_dir;
  std::optional<std::uint64_t> cluster_seed;
  std::size_t nodes = 0;       // 0: as the scenario says
  std::size_t placements = 0;  // likewise
};
Result<EnvOptions> env_options(const WorldArguments& arguments);

// "energy=1"
Status set_weight(placement::RewardWeights& weights, const std::string& text);

// Prints the message; exit code 1.
int report(const Error& error);

}  // namespace wattle::sim::commands
