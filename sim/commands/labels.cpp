#include <CLI/CLI.hpp>
#include <cstdio>

#include "placement/features.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/consolidation_arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/learning/imitate.hpp"

namespace wattle::sim::commands {

namespace {

struct LabelArguments {
  ConsolidationArguments scenario;
  consolidation::LabelOptions labels;
  std::string out_file, model_file;
};

Status run(LabelArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  // Rollouts clone the cluster, which no World can be: what was called production here is its imitation.
  if (arguments.scenario.options.knowledge == consolidation::ClusterModel::production) {
    arguments.scenario.options.knowledge = consolidation::ClusterModel::imitated;
    std::fputs("wattle-sim: --knowledge production of labels is called imitated now\n", stderr);
  }
  arguments.labels.episode = arguments.scenario.options;
  arguments.labels.episode.warm_s = 4 * 3600;
  arguments.labels.episode.measure_s = 14 * 3600;
  std::shared_ptr<const models::FrozenNetwork> network;
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(network, read_network(arguments.model_file));
  }
  WATTLE_TRY(const consolidation::Dataset data, load(arguments.scenario));
  const auto labels = consolidation::collect_labels(data, arguments.labels, network);
  models::Safetensors file{consolidation::to_tensors(labels), {}};
  file.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, file));
  std::printf("%s: %zu labels of %zu episodes; mean regret of %s %.4f W0\n", arguments.out_file.c_str(), labels.size(),
              arguments.labels.episodes, network ? "the network" : "the planner",
              consolidation::mean_regret(labels, network.get()));
  return {};
}

}  // namespace

int labels(int argc, char** argv) {
  LabelArguments arguments;
  CLI::App app{"Play training episodes and judge some choices by paired rollouts", "wattle-sim labels"};
  add_consolidation_options(app, arguments.scenario);
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
  app.callback([&] {
    if (arguments.labels.max_nodes < arguments.labels.min_nodes)
      throw CLI::ValidationError("--max-nodes", "is below --min-nodes");
  });
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
