#include "lab/ablations/worlds.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/options.hpp"
#include "sim/commands/progress.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct WorldsArguments {
  ConsolidationArguments scenario;
  consolidation::WorldsOptions worlds;
  models::TrainerOptions trainer;
  std::string model_file, json_file, side = "report";
};

Status run(WorldsArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  consolidation::WorldsOptions& options = arguments.worlds;
  options.episode = arguments.scenario.options;
  if (!options.episode.churn || options.episode.cluster_model != consolidation::ClusterModel::production)
    return fail(Errc::out_of_range, "worlds", "needs a controller and pods that come and go",
                "use consolidation_churn --knowledge production");
  options.episode.side = arguments.side == "train" ? consolidation::Side::train : consolidation::Side::report;
  WATTLE_TRY(options.learned.shipped, read_network(arguments.model_file));
  WATTLE_TRY(const auto file, read_model(arguments.model_file));
  WATTLE_TRY(const auto data, load(arguments.scenario));
  ProgressBar bar;
  WATTLE_TRY(const auto tables, consolidation::compare_in_worlds(
                                    data, options,
                                    [&]() -> Result<std::unique_ptr<models::QTrainer>> {
                                      WATTLE_TRY(auto made,
                                                 models::make_torch_policy_trainer(arguments.trainer, file.tensors));
                                      return std::unique_ptr<models::QTrainer>(std::move(made));
                                    },
                                    [&](double done, const std::string& next) { bar.show(done, next); }));
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
  options.first_seed = kFirstHeldOutSeed;
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
  app.add_option("--policies", options.policies,
                 "as in wattle-sim eval, and dqn-learned (as in mode live) and dqn-online (without trials)")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--model", arguments.model_file, "safetensors file of the network that is shipped")->required();
  add_checked(app, "--nodes", arguments.scenario.options.nodes, "of a fleet", CLI::Range(2, 1000));
  add_checked(app, "--seeds", options.seeds, "number of fleets", CLI::Range(1, 1000));
  app.add_option("--first-seed", options.first_seed, "seed of the first fleet")->capture_default_str();
  add_checked(app, "--days", options.days, "days in sequence, of which the last is judged", CLI::Range(1, 100));
  add_checked(app, "--side", arguments.side, "servers and days: for reporting, or for training and tuning",
              CLI::IsMember({"report", "train"}));
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  app.add_option("--json", arguments.json_file, "write the figures of each day to this file");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
