#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::commands {

namespace {

struct LabelArguments {
  ConsolidationArguments scenario;
  consolidation::LabelOptions labels;
  std::string out_file, model_file;
};

Status run(LabelArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  arguments.labels.episode = arguments.scenario.options;
  if (!arguments.labels.episode.churn)
    return fail(Errc::out_of_range, "labels", "needs pods that come and go", "use consolidation_churn");
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
  file.metadata["fleets"] = std::to_string(arguments.labels.episodes);
  WATTLE_CHECK(write_model(arguments.out_file, file));
  std::printf("%s: %zu labels of %zu episodes; mean regret of %s %.4f W0\n", arguments.out_file.c_str(), labels.size(),
              arguments.labels.episodes, network ? "the network" : "the planner",
              consolidation::mean_regret(labels, network.get()));
  return {};
}

}  // namespace

int labels(int argc, char** argv) {
  LabelArguments arguments;
  CLI::App app{"Simulate training episodes and label some choices by paired rollouts", "wattle-lab labels"};
  arguments.scenario.teaches = true;
  add_consolidation_options(app, arguments.scenario);
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--model", arguments.model_file, "network that places the pods (default: the planner)");
  app.add_option("--episodes", arguments.labels.episodes, "number of fleets")->check(CLI::Range(1, 100'000));
  app.add_option("--per-episode", arguments.labels.per_episode, "labelled decisions")->check(CLI::Range(1, 10'000));
  app.add_option("--min-nodes", arguments.labels.min_nodes, "of a fleet")->check(CLI::Range(2, 10'000));
  app.add_option("--max-nodes", arguments.labels.max_nodes, "of a fleet")->check(CLI::Range(2, 10'000));
  add_checked(app, "--horizon", arguments.labels.horizon_lives, "number of mean lifetimes that a choice is followed",
              CLI::Range(0.1, 10.0));
  add_checked(app, "--seed", arguments.labels.first_seed, "seed of the first fleet, on the training side",
              CLI::Range(1, 900'000));
  app.callback([&] {
    if (arguments.labels.max_nodes < arguments.labels.min_nodes)
      throw CLI::ValidationError("--max-nodes", "is below --min-nodes");
  });
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
