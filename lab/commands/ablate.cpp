#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/ablations/ablate.hpp"
#include "lab/ablations/flat_policy.hpp"
#include "lab/ablations/imitate_ablate.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "lab/commands/label_files.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"

namespace wattle::sim::commands {

namespace {

struct AblateArguments {
  WorldArguments world;
  AblateLoopOptions loop;
  consolidation::AblateOptions parts;
  consolidation::ImitateOptions imitate;
  models::TrainerOptions trainer;
  std::vector<std::string> label_files, held_out_files;
  std::string initial_file;
};

void tell(std::string_view done) { std::fprintf(stderr, "%.*s\n", static_cast<int>(done.size()), done.data()); }

void head(const char* figure, const char* other) {
  std::printf("%-24s %8s %18s  %26s  %26s\n", "variant", figure, "of training seeds", "less the whole [95%]", other);
}

void row(std::string_view name, double value, double least, double most, const Interval& whole, const Interval& other) {
  constexpr stats::NumberForm kForm{.decimals = 4, .sign = true};
  std::printf("%-24.*s %8.4f %8.4f..%8.4f  %26s  %26s\n", static_cast<int>(name.size()), name.data(), value, least,
              most, interval_text(whole, kForm).c_str(), interval_text(other, kForm).c_str());
}

Status run_imitation(const AblateArguments& arguments) {
  WATTLE_TRY(const ReadLabels taught_labels, read_labels(arguments.label_files));
  WATTLE_TRY(const ReadLabels held_out_labels, read_labels(arguments.held_out_files));
  const auto& labels = taught_labels.labels;
  const auto& held_out = held_out_labels.labels;
  const auto teach = [&](const consolidation::Variant& variant, std::span<const consolidation::Label> taught,
                         std::size_t most_nodes,
                         std::uint64_t seed) -> Result<std::shared_ptr<const models::QNetwork>> {
    models::TrainerOptions trainer_options = arguments.trainer;
    consolidation::ImitateOptions imitate = arguments.imitate;
    imitate.seed = trainer_options.seed = seed;
    if (!variant.regret_in_loss) imitate.regret_weight = 0;
    imitate.average = variant.average;
    if (variant.architecture == consolidation::Architecture::flat) {
      WATTLE_TRY(const auto trainer, models::make_flat_policy(trainer_options, most_nodes));
      WATTLE_CHECK(consolidation::imitate(taught, imitate, *trainer));
      return trainer->network();
    }
    WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(trainer_options));
    WATTLE_TRY(const consolidation::ImitateFigures figures, consolidation::imitate(taught, imitate, *trainer));
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(figures.weights, figures.steps));
    return std::shared_ptr<const models::QNetwork>(std::move(network));
  };
  WATTLE_TRY(auto rows, consolidation::ablate(labels, held_out, arguments.parts, teach, tell));
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

Status run_loop(AblateArguments arguments) {
  WATTLE_TRY(arguments.loop.env, env_options(arguments.world));
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    arguments.loop.initial = std::move(file.tensors);
  }
  const auto make = [&](std::uint64_t seed, const std::optional<models::Weights>& initial) {
    models::TrainerOptions trainer_options = arguments.trainer;
    trainer_options.seed = seed;
    return models::make_torch_trainer(trainer_options, initial);
  };
  WATTLE_TRY(const auto rows, ablate(arguments.loop, make, tell));
  std::printf("%s, %llu decisions, %zu training seeds from %llu, judged greedily on %zu held-out seeds; mean reward\n",
              arguments.world.scenario.c_str(), static_cast<unsigned long long>(arguments.loop.decisions),
              arguments.loop.seeds, static_cast<unsigned long long>(arguments.loop.first_seed),
              arguments.loop.judged_on);
  head("reward", "less untrained [95%]");
  for (const auto& each : rows) row(each.name, each.reward, each.least, each.most, each.over_whole, each.over_initial);
  std::printf("%s", seeds_note(arguments.loop.seeds, "--seeds").c_str());
  return {};
}

}  // namespace

int ablate(int argc, char** argv) {
  const bool imitation = argc > 1 && is_consolidation(argv[1]);
  AblateArguments arguments;
  arguments.imitate.epochs = 8;
  arguments.imitate.regret_weight = 1;
  arguments.world.weights = {"contention=4"};
  arguments.world.cluster_seed = 1;
  if (imitation) arguments.trainer.learning_rate = 1e-3;
  if (!imitation) arguments.trainer.huber_delta = 2;
  CLI::App app{imitation ? "Measure the value of each part of imitation by regret on labels of other fleets"
                         : "Measure the value of each setting of online learning, changed one at a time; ablate "
                           "consolidation: of imitation",
               imitation ? "wattle-lab ablate consolidation" : "wattle-lab ablate"};
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  if (imitation) {
    app.add_option("--labels", arguments.label_files, "files with labels")->delimiter(',')->required();
    app.add_option("--held-out", arguments.held_out_files, "labels of other fleets")->delimiter(',')->required();
    app.add_option("--seeds", arguments.parts.seeds, "training seeds")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--first-seed", arguments.parts.first_seed, "seed of training")->capture_default_str();
    app.add_option("--epochs", arguments.imitate.epochs, "passes over the labels")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_option("--regret-weight", arguments.imitate.regret_weight,
                   "weight of the network's expected regret, divided by the temperature, in the loss")
        ->check(CLI::Range(0.0, 1e3))
        ->capture_default_str();
  } else {
    app.add_option("--scenario", arguments.world.scenario, "see wattle-sim scenarios")->capture_default_str();
    app.add_option("--weight", arguments.world.weights, "weight of the preset weighted as NAME=NUMBER; can be repeated")
        ->capture_default_str();
    app.add_option("--cluster-seed", arguments.world.cluster_seed, "one cluster for all episodes")
        ->capture_default_str();
    app.add_option("--steps", arguments.loop.decisions, "decisions to learn from")
        ->check(CLI::Range(600, 10'000'000))
        ->capture_default_str();
    app.add_option("--seeds", arguments.loop.seeds, "training seeds")->check(CLI::Range(1, 100))->capture_default_str();
    app.add_option("--first-seed", arguments.loop.first_seed,
                   "first training seed; the others follow at intervals of 1000")
        ->check(CLI::Range(1, 900'000))
        ->capture_default_str();
    app.add_option("--judged-on", arguments.loop.judged_on, "held-out seeds")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--initial", arguments.initial_file, "add the variant that starts from this network");
  }
  return run_command(app, imitation ? argc - 1 : argc, imitation ? argv + 1 : argv,
                     [&] { return imitation ? run_imitation(arguments) : run_loop(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
