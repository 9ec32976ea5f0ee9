#include "lab/ablations/online.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"

namespace wattle::sim::commands {

namespace {

struct OnlineArguments {
  ConsolidationArguments scenario;
  consolidation::OnlineOptions online;
  models::TrainerOptions trainer;
  std::string out_file, initial_file;
};

Status run(OnlineArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  arguments.online.episode = arguments.scenario.options;
  arguments.online.episode.side = consolidation::Side::train;
  std::optional<models::Weights> initial;
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    WATTLE_TRY(const auto network, read_network(arguments.initial_file));
    arguments.online.anchor = network;
    initial = std::move(file.tensors);
  }
  WATTLE_TRY(const auto data, load(arguments.scenario));
  WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(arguments.trainer, initial));
  WATTLE_TRY(const placement::LearnerFigures figures, consolidation::learn_online(data, arguments.online, *trainer));
  models::Safetensors model{trainer->weights(), {}};
  model.metadata["scenario"] = "consolidation_churn";
  model.metadata["decisions"] = std::to_string(figures.placed);
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, model));
  std::printf("%s: %llu decisions, %llu outcomes, %llu steps, loss %.5f, mean Q %.3f, mean reward %.4f\n",
              arguments.out_file.c_str(), static_cast<unsigned long long>(figures.placed),
              static_cast<unsigned long long>(figures.settled), static_cast<unsigned long long>(figures.steps),
              figures.loss, figures.mean_q, figures.mean_reward);
  return {};
}

}  // namespace

int online(int argc, char** argv) {
  OnlineArguments arguments;
  consolidation::OnlineOptions& online = arguments.online;
  arguments.scenario.knowledge = "production";
  CLI::App app{"Run the controller's learner on consolidation_churn with telemetry only, on the training side",
               "wattle-lab online"};
  add_consolidation_options(app, arguments.scenario);
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--initial", arguments.initial_file, "initial weights, to which learning is anchored");
  app.add_option("--nodes", arguments.scenario.options.nodes, "of a fleet")->check(CLI::Range(2, 1000));
  app.add_option("--episodes", online.episodes, "fleets, a day and eight hours each")->check(CLI::Range(1, 10'000));
  app.add_option("--seed", online.first_seed, "seed of the first fleet")->check(CLI::Range(1, 900'000));
  app.add_option("--tau", online.learner.tau_s, "time in seconds after which a reward counts 1/e")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--n-step", online.learner.n_step, "decisions until bootstrapping")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
