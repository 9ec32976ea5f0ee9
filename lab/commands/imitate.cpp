#include <CLI/CLI.hpp>
#include <cstdio>
#include <iterator>

#include "common/formatted.hpp"
#include "common/parse.hpp"
#include "lab/commands/commands.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::commands {

namespace {

// Returns the evidence for a network that has not served yet. `less`: its regret minus the planner's.
std::string certificate(const Interval& less, std::size_t labels) {
  return formatted(
      "its choices cost %.1f%% [%.1f, %.1f] of a place's mean watts less than the plan's in %zu judged decisions on "
      "simulated fleets that it was not trained on",
      -100 * less.mean, -100 * less.high, -100 * less.low, labels);
}

struct ImitateArguments {
  std::string out_file;
  std::vector<std::string> label_files, held_out_files;
  consolidation::ImitateOptions imitate;
  models::TrainerOptions trainer;
};

struct ReadLabels {
  std::vector<consolidation::Label> labels;
  std::size_t fleets = 0;
};

// Reads the labels of all files, in their order. Labels of other features give conflict.
Result<ReadLabels> read_labels(const std::vector<std::string>& files) {
  ReadLabels all;
  for (const std::string& file : files) {
    WATTLE_TRY(const auto model, read_model(file));
    const auto schema = model.metadata.find("feature_schema");
    if (schema == model.metadata.end() || schema->second != placement::feature_schema_hash())
      return fail(Errc::conflict, file, "contains labels of other features",
                  "create the labels again with wattle-lab labels");
    WATTLE_TRY(auto labels, consolidation::parse_labels(model.tensors, file));
    std::move(labels.begin(), labels.end(), std::back_inserter(all.labels));
    const auto fleets = model.metadata.find("fleets");
    if (fleets != model.metadata.end()) all.fleets += parse::integer<std::size_t>(fleets->second).value_or(1);
  }
  return all;
}

Status run(ImitateArguments arguments) {
  WATTLE_TRY(ReadLabels taught_labels, read_labels(arguments.label_files));
  WATTLE_TRY(ReadLabels held_out_labels, read_labels(arguments.held_out_files));
  if (!enough_seeds(held_out_labels.fleets))
    return fail(Errc::out_of_range, "--held-out",
                "has labels of " + std::to_string(held_out_labels.fleets) + " fleets, but a verdict needs at least " +
                    std::to_string(stats::kLeastSeeds),
                "use wattle-lab labels --episodes " + std::to_string(stats::kLeastSeeds));
  auto& labels = taught_labels.labels;
  auto& held_out = held_out_labels.labels;
  std::printf("%zu labels, %zu held out; mean regret in W0: prior %.4f | %.4f\n", labels.size(), held_out.size(),
              consolidation::mean_regret(labels, nullptr), consolidation::mean_regret(held_out, nullptr));
  const consolidation::Taught taught = consolidation::taught_by(labels);
  const bool gated = taught.plan || taught.life;
  arguments.imitate.seed = arguments.trainer.seed;
  auto first = models::initial_weights(arguments.trainer.seed);
  if (gated) consolidation::reserve_gate(first);
  WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(arguments.trainer, first));
  WATTLE_TRY(const consolidation::ImitateFigures figures, consolidation::imitate(labels, arguments.imitate, *trainer));
  models::Safetensors model{figures.weights, {}};
  consolidation::silence_constant_inputs(model.tensors, labels);
  if (gated) consolidation::close_untaught(model.tensors, taught);
  if (gated && !consolidation::close_beyond_taught_size(model.tensors, labels))
    std::printf("also applies to larger fleets than those of the training\n");
  WATTLE_TRY(const auto network, models::FrozenNetwork::from_weights(model.tensors, trainer->steps()));
  std::printf("%llu steps, loss %.4f, agreement %.3f, regret %.4f | %.4f\n",
              static_cast<unsigned long long>(figures.steps), figures.loss, figures.agreement,
              consolidation::mean_regret(labels, network.get()), consolidation::mean_regret(held_out, network.get()));
  const Interval less = paired_difference(consolidation::regrets_of(held_out, network.get()),
                                          consolidation::regrets_of(held_out, nullptr));
  std::printf("on held-out labels less the planner: %s W0 a placement\n", interval_text(less, {.decimals = 4}).c_str());
  if (!less.below_zero())
    return fail(Errc::conflict, arguments.out_file, "not written: not significantly better than the planner",
                "use more labels or another seed, or keep the current network");
  model.metadata["network_sha256"] = models::network_digest(model.tensors);
  model.metadata["scenario"] = "consolidation";
  model.metadata["reward"] = "weighted";
  model.metadata["seed"] = std::to_string(arguments.trainer.seed);
  model.metadata["labels"] = std::to_string(labels.size());
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  model.metadata["certificate"] = certificate(less, held_out.size());
  WATTLE_CHECK(write_model(arguments.out_file, model));
  std::printf("%s\n", arguments.out_file.c_str());
  return {};
}

}  // namespace

int imitate(int argc, char** argv) {
  ImitateArguments arguments;
  arguments.trainer.learning_rate = 1e-3;
  CLI::App app{"Train a network by cross-entropy with judged choices (wattle-lab labels)", "wattle-lab imitate"};
  app.add_option("--labels", arguments.label_files, "files with labels")->delimiter(',')->required();
  app.add_option("--held-out", arguments.held_out_files,
                 "labels of other fleets; the network is written if it beats the planner on them")
      ->delimiter(',')
      ->required();
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--epochs", arguments.imitate.epochs, "passes over the labels")->check(CLI::Range(1, 10'000));
  app.add_option("--batch", arguments.imitate.batch, "labels per step")->check(CLI::Range(1, 4096));
  add_checked(app, "--regret-weight", arguments.imitate.regret_weight,
              "weight of the network's expected regret, divided by the temperature, in the loss", CLI::Range(0.0, 1e3));
  app.add_flag("--average", arguments.imitate.average, "average the weights of the last half of the steps");
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  app.add_option("--seed", arguments.trainer.seed, "seed of the first weights and the order of labels");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
