#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/ablations/imitate_ablate.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "lab/commands/label_files.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"

namespace wattle::sim::commands {

namespace {

struct AblateArguments {
  consolidation::AblateOptions parts;
  consolidation::ImitateOptions imitate;
  models::TrainerOptions trainer;
  std::vector<std::string> label_files, held_out_files;
};

void report(std::string_view done) { std::fprintf(stderr, "%.*s\n", static_cast<int>(done.size()), done.data()); }

void head(const char* figure, const char* other) {
  std::printf("%-24s %8s %18s  %26s  %26s\n", "variant", figure, "of training seeds", "less the whole [95%]", other);
}

void row(std::string_view name, double value, double least, double most, const Interval& whole, const Interval& other) {
  constexpr stats::NumberForm kForm{.decimals = 4, .sign = true};
  std::printf("%-24.*s %8.4f %8.4f..%8.4f  %26s  %26s\n", static_cast<int>(name.size()), name.data(), value, least,
              most, interval_text(whole, kForm).c_str(), interval_text(other, kForm).c_str());
}

Status run(const AblateArguments& arguments) {
  WATTLE_TRY(const ReadLabels taught_labels, read_labels(arguments.label_files));
  WATTLE_TRY(const ReadLabels held_out_labels, read_labels(arguments.held_out_files));
  const auto& labels = taught_labels.labels;
  const auto& held_out = held_out_labels.labels;
  const auto teach = [&](const consolidation::Variant& variant, std::span<const consolidation::Label> taught,
                         std::uint64_t seed) -> Result<std::shared_ptr<const models::QNetwork>> {
    models::TrainerOptions trainer_options = arguments.trainer;
    consolidation::ImitateOptions imitate = arguments.imitate;
    imitate.seed = trainer_options.seed = seed;
    if (!variant.regret_in_loss) imitate.regret_weight = 0;
    imitate.average = variant.average;
    WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(trainer_options));
    WATTLE_TRY(const consolidation::ImitateFigures figures, consolidation::imitate(taught, imitate, *trainer));
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(figures.weights, figures.steps));
    return std::shared_ptr<const models::QNetwork>(std::move(network));
  };
  WATTLE_TRY(auto rows, consolidation::ablate(labels, held_out, arguments.parts, teach, report));
  if (!enough_seeds(held_out_labels.fleets))
    for (auto& each : rows) {
      each.over_whole = stats::without_range(each.over_whole.mean);
      each.over_prior = stats::without_range(each.over_prior.mean);
    }
  std::printf("%zu labels, %zu held out, %zu training seeds from %llu, %zu passes; regret in W0 a placement\n",
              labels.size(), held_out.size(), arguments.parts.seeds,
              static_cast<unsigned long long>(arguments.parts.first_seed), arguments.imitate.epochs);
  head("regret", "less the planner [95%]");
  for (const auto& each : rows) row(each.name, each.regret, each.least, each.most, each.over_whole, each.over_prior);
  std::printf("%s", seeds_note(arguments.parts.seeds, "--seeds").c_str());
  std::printf("%s", seeds_note(held_out_labels.fleets, "held-out labels: wattle-lab labels --episodes").c_str());
  return {};
}

}  // namespace

int ablate(int argc, char** argv) {
  AblateArguments arguments;
  arguments.imitate.epochs = 8;
  arguments.imitate.regret_weight = 1;
  arguments.trainer.learning_rate = 1e-3;
  CLI::App app{"Measure the value of each part of imitation by regret on labels of other fleets", "wattle-lab ablate"};
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  app.add_option("--labels", arguments.label_files, "files with labels")->delimiter(',')->required();
  app.add_option("--held-out", arguments.held_out_files, "labels of other fleets")->delimiter(',')->required();
  app.add_option("--seeds", arguments.parts.seeds, "training seeds")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--first-seed", arguments.parts.first_seed, "seed of training")->capture_default_str();
  app.add_option("--epochs", arguments.imitate.epochs, "passes over the labels")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--regret-weight", arguments.imitate.regret_weight,
                 "weight of the network's expected regret, divided by the temperature, in the loss")
      ->check(CLI::Range(0.0, 1e3))
      ->capture_default_str();
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
