#include "lab/ablations/worlds.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"

namespace wattle::sim::commands {

namespace {

struct WorldsArguments {
  ConsolidationArguments scenario;
  consolidation::WorldsOptions worlds;
  models::TrainerOptions trainer;
  std::string model_file, json_file;
};

Status run(WorldsArguments arguments) {
  consolidation::WorldsOptions& options = arguments.worlds;
  WATTLE_TRY(options.episode, churn_under_controller(arguments.scenario, "worlds"));
  WATTLE_TRY(options.learned.shipped, read_network(arguments.model_file));
  WATTLE_TRY(const auto file, read_model(arguments.model_file));
  WATTLE_TRY(const auto data, load(arguments.scenario));
  const auto make_learner = [&]() -> Result<std::unique_ptr<models::QTrainer>> {
    WATTLE_TRY(auto made, models::make_torch_policy_trainer(arguments.trainer, file.tensors));
    return std::unique_ptr<models::QTrainer>(std::move(made));
  };
  WATTLE_TRY(const auto tables,
             consolidation::compare_in_worlds(data, options, make_learner, ProgressBar().callback()));
  std::printf("%zu fleets of %zu nodes, day %zu after %zu days of learning; IQM [95%%], %%\n\n%s%s", options.seeds,
              options.episode.nodes, options.days, options.days - 1, consolidation::to_table(tables).c_str(),
              seeds_note(options.seeds, "--seeds").c_str());
  if (!arguments.json_file.empty())
    WATTLE_CHECK(write_file_atomically(arguments.json_file, consolidation::to_json(tables)));
  return {};
}

}  // namespace

int worlds(int argc, char** argv) {
  WorldsArguments arguments;
  consolidation::WorldsOptions& options = arguments.worlds;
  arguments.scenario.cluster_model = "production";
  options.worlds = {"crowded", "interference", "wrong-data", "wave", "combined", "plain"};
  options.policies = {"node-order", "node-order-costs", "planner", "dqn", "dqn-learned"};
  CLI::App app{
      "Compare policies, and a network that learns online, over days in worlds where experience counts "
      "(lab/docs/commands.md)",
      "wattle-lab worlds"};
  add_consolidation_options(app, arguments.scenario);
  app.add_option("--worlds", options.worlds, "plain, crowded, interference, wrong-data, wave, combined")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--policies", options.policies, "as in wattle-sim eval, and dqn-learned, which learns as in mode live")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--model", arguments.model_file, "safetensors file of the network that is shipped")->required();
  add_fleet_options(app, options.seeds, options.first_seed, arguments.scenario.options.nodes);
  add_checked(app, "--days", options.days, "days in sequence, of which the last is judged", CLI::Range(1, 100));
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  app.add_option("--json", arguments.json_file, "write the figures of each day to this file");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
