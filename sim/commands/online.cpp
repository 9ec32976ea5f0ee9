#include "sim/x8/online.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "models/torch/torch_trainer.hpp"
#include "placement/features.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/x8_arguments.hpp"

namespace wattle::sim::commands {

namespace {

struct OnlineArguments {
  X8Arguments x8;
  x8::OnlineOptions online;
  models::TrainerOptions trainer;
  std::string out_file, initial_file;
  bool free = false, no_plan = false;
};

Status run(OnlineArguments arguments) {
  WATTLE_CHECK(apply(arguments.x8));
  arguments.online.episode = arguments.x8.options;
  arguments.online.episode.side = x8::Side::train;
  arguments.online.plan = !arguments.no_plan;
  std::optional<models::Weights> initial;
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    WATTLE_TRY(const auto network, read_network(arguments.initial_file));
    if (!arguments.free) arguments.online.anchor = network;
    initial = std::move(file.tensors);
  }
  WATTLE_TRY(const auto data, load(arguments.x8));
  WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(arguments.trainer, initial));
  WATTLE_TRY(const x8::OnlineFigures figures, x8::learn_online(data, arguments.online, *trainer));
  models::Safetensors model{trainer->weights(), {}};
  model.metadata["scenario"] = "x8";
  model.metadata["decisions"] = std::to_string(figures.decisions);
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, model));
  std::printf("%s: %llu decisions, %llu steps, loss %.5f, mean Q %.3f\n", arguments.out_file.c_str(),
              static_cast<unsigned long long>(figures.decisions), static_cast<unsigned long long>(figures.steps),
              figures.loss, figures.mean_q);
  return {};
}

}  // namespace

int online(int argc, char** argv) {
  OnlineArguments arguments;
  x8::OnlineOptions& online = arguments.online;
  CLI::App app{"Double DQN on X8 under churn, from outcomes alone, on the training side", "wattle-sim online"};
  add_x8_options(app, arguments.x8);
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--initial", arguments.initial_file, "go on from these weights, anchored to them");
  app.add_flag("--free", arguments.free, "without the anchor");
  app.add_flag("--no-plan", arguments.no_plan, "features and prior without the planner");
  app.add_option("--nodes", arguments.x8.options.nodes, "of a fleet")->check(CLI::Range(2, 1000));
  app.add_option("--episodes", online.episodes, "fleets, a day and eight hours each")->check(CLI::Range(1, 10'000));
  app.add_option("--seed", online.first_seed, "of the first fleet")->check(CLI::Range(1, 900'000));
  app.add_option("--epsilon", online.epsilon, "share of placements at random")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--horizon", online.horizon, "decisions; the discount is 1 - 1 / horizon")
      ->check(CLI::Range(1.0, 1e5))
      ->capture_default_str();
  app.add_option("--n-step", online.n_step, "decisions until bootstrapping")->check(CLI::Range(1, 200));
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(std::move(arguments));
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
