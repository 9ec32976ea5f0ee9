#include <CLI/CLI.hpp>
#include <cstdio>

#include "placement/features.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/x8_arguments.hpp"
#include "sim/x8/imitate.hpp"

namespace wattle::sim::commands {

namespace {

struct LabelArguments {
  X8Arguments x8;
  x8::LabelOptions labels;
  std::string out_file, model_file;
};

Status run(LabelArguments arguments) {
  WATTLE_CHECK(apply(arguments.x8));
  arguments.labels.episode = arguments.x8.options;
  arguments.labels.episode.warm_s = 4 * 3600;
  arguments.labels.episode.measure_s = 14 * 3600;
  std::shared_ptr<const models::FrozenNetwork> network;
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(network, read_network(arguments.model_file));
  }
  WATTLE_TRY(const x8::Dataset data, load(arguments.x8));
  const auto labels = x8::collect_labels(data, arguments.labels, network);
  models::Safetensors file{x8::to_tensors(labels), {}};
  file.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, file));
  std::printf("%s: %zu labels of %zu episodes; mean regret of %s %.4f W0\n", arguments.out_file.c_str(), labels.size(),
              arguments.labels.episodes, network ? "the network" : "the planner",
              x8::mean_regret(labels, network.get()));
  return {};
}

}  // namespace

int labels(int argc, char** argv) {
  LabelArguments arguments;
  CLI::App app{"Play training episodes and judge some choices by paired rollouts", "wattle-sim labels"};
  add_x8_options(app, arguments.x8);
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--model", arguments.model_file, "played by this network; default: by the planner");
  app.add_option("--episodes", arguments.labels.episodes, "how many fleets")->check(CLI::Range(1, 100'000));
  app.add_option("--per-episode", arguments.labels.per_episode, "decisions judged")->check(CLI::Range(1, 10'000));
  app.add_option("--min-nodes", arguments.labels.min_nodes, "of a fleet")->check(CLI::Range(2, 10'000));
  app.add_option("--max-nodes", arguments.labels.max_nodes, "of a fleet")->check(CLI::Range(2, 10'000));
  app.add_option("--explore", arguments.labels.explore, "share of placements elsewhere")->check(CLI::Range(0.0, 1.0));
  app.add_option("--horizon", arguments.labels.horizon_lives, "mean lives that a choice is followed for, under churn")
      ->check(CLI::Range(0.1, 10.0))
      ->capture_default_str();
  app.add_option("--unplanned", arguments.labels.unplanned, "share of the labels kept as they look without a plan")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", arguments.labels.first_seed, "of the first fleet, on the training side")
      ->check(CLI::Range(1, 900'000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (arguments.labels.max_nodes < arguments.labels.min_nodes)
      throw CLI::ValidationError("--max-nodes", "is below --min-nodes");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(std::move(arguments));
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
