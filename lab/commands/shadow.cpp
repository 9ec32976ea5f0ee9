#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/bench/shadow_run.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"

namespace wattle::sim::commands {

namespace {

struct ShadowArguments {
  ConsolidationArguments scenario;
  consolidation::BenchOptions bench;
  consolidation::ShadowOptions shadow;
  std::string model_file;
};

Status run(ShadowArguments arguments) {
  consolidation::BenchOptions& bench = arguments.bench;
  WATTLE_TRY(bench.episode, churn_under_controller(arguments.scenario, "shadow"));
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(bench.network, read_learned(arguments.model_file));
  }
  WATTLE_TRY(const consolidation::Dataset data, load(arguments.scenario));
  WATTLE_TRY(const auto runs, consolidation::run_shadows(data, bench, arguments.shadow));
  std::printf("%s", consolidation::shadow_table(runs).c_str());
  return {};
}

}  // namespace

int shadow(int argc, char** argv) {
  ShadowArguments arguments;
  arguments.scenario.cluster_model = "production";
  CLI::App app{"Compare the modelled saving of shadow and live mode with the real saving of the day after",
               "wattle-lab shadow"};
  add_consolidation_options(app, arguments.scenario);
  add_fleet_options(app, arguments.bench.seeds, arguments.bench.first_seed, arguments.bench.nodes.front());
  add_checked(app, "--days", arguments.shadow.days, "days of a fleet, each compared with the figures at its beginning",
              CLI::Range(1, 100));
  app.add_option("--policy", arguments.shadow.policy, "policy that advises, and decides in live mode")
      ->capture_default_str();
  app.add_option("--model", arguments.model_file, "safetensors file of the policy dqn or tabular-q");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
