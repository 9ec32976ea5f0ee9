#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <deque>
#include <limits>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/label_files.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::commands {

namespace {

// Returns the evidence for a network that has not served yet.
std::string certificate(const consolidation::Promotion& promotion, std::size_t labels) {
  const auto& less = promotion.against_present;
  char text[256];
  std::snprintf(
      text, sizeof text,
      "its choices cost %.1f%% [%.1f, %.1f] of a place's mean watts less than the plan's in %zu judged decisions on "
      "simulated fleets that it was not taught on",
      -100 * less.mean, -100 * less.high, -100 * less.low, labels);
  return text;
}

struct ImitateArguments {
  std::string scenario, out_file, initial_file, curve_file;
  std::vector<std::string> label_files, held_out_files;
  consolidation::ImitateOptions imitate;
  models::TrainerOptions trainer;
  std::size_t restarts = 3;
  double most_regret = std::numeric_limits<double>::infinity();
};

void cap_regrets(std::span<consolidation::Label> labels, double most) {
  for (consolidation::Label& label : labels)
    for (float& regret : label.regret)
      if (static_cast<double>(regret) > most) regret = static_cast<float>(most);
}

// Regret of the network's choices on held-out labels, pass after pass.
struct Curve {
  std::vector<double> judged, regret;
  Status add(const models::PolicyTrainer& trainer, std::span<const consolidation::Label> labels,
             std::span<const consolidation::Label> held_out) {
    WATTLE_TRY(const auto network, models::FrozenNetwork::from_weights(trainer.weights(), trainer.steps()));
    judged.push_back(static_cast<double>(labels.size() * (judged.size() + 1)));
    regret.push_back(consolidation::mean_regret(held_out, network.get()));
    return {};
  }
  Status write(const std::string& file) const {
    const SortedJson out = {{"name", "imitation on consolidation, held-out labels"},
                            {"decisions", judged},
                            {"reward", regret},
                            {"x", "labels learned from"},
                            {"y", "regret, W0 a placement"}};
    return write_file_atomically(file, out.dump() + "\n");
  }
};

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
  cap_regrets(labels, arguments.most_regret);
  cap_regrets(held_out, arguments.most_regret);
  std::optional<models::Weights> initial;
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    WATTLE_TRY(arguments.imitate.anchor, read_network(arguments.initial_file));
    initial = std::move(file.tensors);
  }
  std::printf("%zu labels, %zu held out; mean regret in W0: prior %.4f | %.4f", labels.size(), held_out.size(),
              consolidation::mean_regret(labels, nullptr), consolidation::mean_regret(held_out, nullptr));
  if (initial)
    std::printf(", start %.4f | %.4f", consolidation::mean_regret(labels, arguments.imitate.anchor.get()),
                consolidation::mean_regret(held_out, arguments.imitate.anchor.get()));
  std::printf("\n");
  std::vector<std::shared_ptr<const models::FrozenNetwork>> trained;
  std::vector<const models::QNetwork*> candidates;
  std::vector<models::Weights> weights;
  std::deque<Curve> curves;
  for (std::size_t k = 0; k < arguments.restarts; ++k) {
    models::TrainerOptions options = arguments.trainer;
    arguments.imitate.seed = options.seed += k;
    const consolidation::Taught taught = consolidation::taught_by(labels);
    const bool gated = !initial && (taught.plan || taught.life);
    auto first = initial.value_or(models::initial_weights(options.seed));
    if (gated) consolidation::reserve_gate(first);
    WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(options, first));
    Curve& curve = curves.emplace_back();
    if (!arguments.curve_file.empty())
      arguments.imitate.on_pass = [&] { return curve.add(*trainer, labels, held_out); };
    WATTLE_TRY(const consolidation::ImitateFigures figures,
               consolidation::imitate(labels, arguments.imitate, *trainer));
    weights.push_back(figures.weights);
    if (!initial) consolidation::silence_constant_inputs(weights.back(), labels);
    if (gated) consolidation::close_untaught(weights.back(), taught);
    if (gated && !consolidation::close_beyond_taught_size(weights.back(), labels))
      std::printf("seed %llu: also applies to larger fleets than those of the training\n",
                  static_cast<unsigned long long>(options.seed));
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights.back(), trainer->steps()));
    std::printf("seed %llu: %llu steps, loss %.4f, agreement %.3f, regret %.4f | %.4f\n",
                static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(figures.steps),
                figures.loss, figures.agreement, consolidation::mean_regret(labels, network.get()),
                consolidation::mean_regret(held_out, network.get()));
    candidates.push_back(network.get());
    trained.push_back(std::move(network));
  }
  const consolidation::Promotion promotion =
      consolidation::promote(held_out, arguments.imitate.anchor.get(), candidates);
  const char* present = initial ? "the initial network" : "the planner";
  std::printf("best on held-out labels less %s: %s W0 a placement\n", present,
              interval_text(promotion.against_present, {.decimals = 4}).c_str());
  if (!promotion.candidate)
    return fail(Errc::conflict, arguments.out_file,
                std::string("not written: not significantly better than ") + present,
                "use more labels, or keep the current network");
  const std::uint64_t best_seed = arguments.trainer.seed + *promotion.candidate;
  models::Safetensors model{std::move(weights[*promotion.candidate]), {}};
  model.metadata["network_sha256"] = models::network_digest(model.tensors);
  model.metadata["scenario"] = "consolidation";
  model.metadata["reward"] = "weighted";
  model.metadata["seed"] = std::to_string(best_seed);
  model.metadata["labels"] = std::to_string(labels.size());
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  // Compares with the plan, whatever the initial network was, because the network takes over from the plan.
  const std::array<const models::QNetwork*, 1> best{candidates[*promotion.candidate]};
  const auto against_plan = consolidation::promote(held_out, nullptr, best);
  if (against_plan.candidate) model.metadata["certificate"] = certificate(against_plan, held_out.size());
  WATTLE_CHECK(write_model(arguments.out_file, model));
  if (!arguments.curve_file.empty()) WATTLE_CHECK(curves[*promotion.candidate].write(arguments.curve_file));
  std::printf("%s: seed %llu\n", arguments.out_file.c_str(), static_cast<unsigned long long>(best_seed));
  return {};
}

}  // namespace

int imitate(int argc, char** argv) {
  ImitateArguments arguments;
  arguments.trainer.learning_rate = 1e-3;
  CLI::App app{"Train a network by cross-entropy with judged choices (wattle-lab labels)", "wattle-lab imitate"};
  app.add_option("--labels", arguments.label_files, "files with labels")->delimiter(',')->required();
  app.add_option(
         "--held-out", arguments.held_out_files,
         "labels of other fleets; the best network on them is written if it beats the initial network (or the planner)")
      ->delimiter(',')
      ->required();
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  app.add_option("--curve", arguments.curve_file,
                 "write regret on held-out labels by pass to this file, for wattle-lab bench --curve");
  app.add_option("--initial", arguments.initial_file, "initial weights, to which learning is anchored");
  app.add_option("--anchor", arguments.imitate.anchor_share,
                 "share of the initial network's own choice in every target")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--epochs", arguments.imitate.epochs, "passes over the labels")->check(CLI::Range(1, 10'000));
  app.add_option("--batch", arguments.imitate.batch, "labels per step")->check(CLI::Range(1, 4096));
  app.add_option("--regret-weight", arguments.imitate.regret_weight,
                 "weight of the network's expected regret, divided by the temperature, in the loss")
      ->check(CLI::Range(0.0, 1e3))
      ->capture_default_str();
  app.add_option("--most-regret", arguments.most_regret,
                 "cap of the regret in W0, so that few expensive choices do not dominate")
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("--average", arguments.imitate.average, "average the weights of the last half of the steps");
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  app.add_option("--restarts", arguments.restarts, "number of starts with other seeds")->check(CLI::Range(1, 20));
  app.add_option("--seed", arguments.trainer.seed, "seed of the first start");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
