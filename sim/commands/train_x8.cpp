#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "common/dir.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/features.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/x8/ablate.hpp"
#include "sim/x8/imitate.hpp"

namespace wattle::sim::commands {

namespace {

struct TrainX8Arguments {
  std::string scenario, out_file, initial_file, curve_file, variant;
  std::vector<std::string> label_files, held_out_files;
  x8::ImitateOptions imitate;
  models::TrainerOptions trainer;
  std::size_t restarts = 3;
};

// Regret of the network's choices on held-out labels, pass after pass.
struct Curve {
  std::vector<double> judged, regret;
  Status add(const models::PolicyTrainer& trainer, std::span<const x8::Label> labels,
             std::span<const x8::Label> held_out) {
    WATTLE_TRY(const auto network, models::FrozenNetwork::from_weights(trainer.weights(), trainer.steps()));
    judged.push_back(static_cast<double>(labels.size() * (judged.size() + 1)));
    regret.push_back(x8::mean_regret(held_out, network.get()));
    return {};
  }
  Status write(const std::string& file) const {
    const nlohmann::json out = {{"name", "imitation on X8, held-out labels"},
                                {"decisions", judged},
                                {"reward", regret},
                                {"x", "labels learned from"},
                                {"y", "regret, W0 a placement"}};
    return write_file_atomically(file, out.dump() + "\n");
  }
};

Status run(TrainX8Arguments arguments) {
  WATTLE_TRY(auto labels, read_labels(arguments.label_files));
  WATTLE_TRY(auto held_out, read_labels(arguments.held_out_files));
  for (const x8::Variant& each : x8::variants()) {
    if (each.name != arguments.variant || each.silent.empty()) continue;
    labels = x8::without(each, labels);
    held_out = x8::without(each, held_out);
  }
  std::optional<models::Weights> initial;
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    WATTLE_TRY(arguments.imitate.anchor, read_network(arguments.initial_file));
    initial = std::move(file.tensors);
  }
  std::printf("%zu labels, %zu held out; mean regret in W0: prior %.4f | %.4f", labels.size(), held_out.size(),
              x8::mean_regret(labels, nullptr), x8::mean_regret(held_out, nullptr));
  if (initial)
    std::printf(", start %.4f | %.4f", x8::mean_regret(labels, arguments.imitate.anchor.get()),
                x8::mean_regret(held_out, arguments.imitate.anchor.get()));
  std::printf("\n");
  std::vector<std::shared_ptr<const models::FrozenNetwork>> trained;
  std::vector<const models::QNetwork*> candidates;
  std::vector<models::Weights> weights;
  std::deque<Curve> curves;
  for (std::size_t k = 0; k < arguments.restarts; ++k) {
    models::TrainerOptions options = arguments.trainer;
    arguments.imitate.seed = options.seed += k;
    const x8::Taught taught = x8::taught_by(labels);
    const bool gated = !initial && (taught.plan || taught.life);
    auto first = initial.value_or(models::initial_weights(options.seed));
    if (gated) x8::reserve_gate(first);
    WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(options, first));
    Curve& curve = curves.emplace_back();
    if (!arguments.curve_file.empty())
      arguments.imitate.on_pass = [&] { return curve.add(*trainer, labels, held_out); };
    WATTLE_TRY(const x8::ImitateFigures figures, x8::imitate(labels, arguments.imitate, *trainer));
    weights.push_back(figures.weights);
    if (!initial) x8::silence_constant_inputs(weights.back(), labels);
    if (gated) x8::close_untaught(weights.back(), taught);
    if (gated && !x8::close_beyond_taught_size(weights.back(), labels))
      std::printf("seed %llu: speaks in larger fleets than it was taught in, too\n",
                  static_cast<unsigned long long>(options.seed));
    WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights.back(), trainer->steps()));
    std::printf("seed %llu: %llu steps, loss %.4f, agreement %.3f, regret %.4f | %.4f\n",
                static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(figures.steps),
                figures.loss, figures.agreement, x8::mean_regret(labels, network.get()),
                x8::mean_regret(held_out, network.get()));
    candidates.push_back(network.get());
    trained.push_back(std::move(network));
  }
  const x8::Promotion promotion = x8::promote(held_out, arguments.imitate.anchor.get(), candidates);
  const char* present = initial ? "the start" : "the planner";
  std::printf("best on held-out labels less %s: %.4f [%.4f, %.4f] W0 a placement\n", present,
              promotion.against_present.mean, promotion.against_present.low, promotion.against_present.high);
  if (!promotion.candidate)
    return fail(Errc::conflict, arguments.out_file,
                std::string("not written: no better than ") + present + " for certain",
                "more labels, or stay with what there is");
  const std::uint64_t best_seed = arguments.trainer.seed + *promotion.candidate;
  models::Safetensors model{std::move(weights[*promotion.candidate]), {}};
  model.metadata["network_sha256"] = models::network_digest(model.tensors);
  model.metadata["scenario"] = "x8";
  model.metadata["reward"] = "weighted";
  model.metadata["seed"] = std::to_string(best_seed);
  model.metadata["labels"] = std::to_string(labels.size());
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, model));
  if (!arguments.curve_file.empty()) WATTLE_CHECK(curves[*promotion.candidate].write(arguments.curve_file));
  std::printf("%s: seed %llu\n", arguments.out_file.c_str(), static_cast<unsigned long long>(best_seed));
  return {};
}

}  // namespace

int train_x8(int argc, char** argv) {
  TrainX8Arguments arguments;
  arguments.trainer.learning_rate = 1e-3;
  CLI::App app{"Train a network by cross-entropy with judged choices (wattle-sim labels)", "wattle-sim train x8"};
  app.add_option("--labels", arguments.label_files, "files of labels")->delimiter(',')->required();
  app.add_option("--held-out", arguments.held_out_files,
                 "labels of other fleets; what does best on them is written, if it beats the start (or the planner)")
      ->delimiter(',')
      ->required();
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  std::vector<std::string> names;
  for (const x8::Variant& each : x8::variants())
    if (!each.silent.empty()) names.emplace_back(each.name);
  app.add_option("--variant", arguments.variant, "of wattle-sim ablate x8: its features are not heard")
      ->check(CLI::IsMember(names));
  app.add_option("--curve", arguments.curve_file,
                 "writes regret on held-out labels by pass to this file, for bench --curve");
  app.add_option("--initial", arguments.initial_file, "go on from these weights, anchored to them");
  app.add_option("--anchor", arguments.imitate.anchor_share, "share of the start's own choice in every target")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--epochs", arguments.imitate.epochs, "passes over the labels")->check(CLI::Range(1, 10'000));
  app.add_option("--batch", arguments.imitate.batch, "labels of one step")->check(CLI::Range(1, 4096));
  app.add_option("--temperature", arguments.imitate.temperature, "W0; of the targets, exp(-regret / temperature)")
      ->check(CLI::Range(1e-3, 1e3))
      ->capture_default_str();
  app.add_option("--regret-weight", arguments.imitate.regret_weight,
                 "of the regret that the network is expected to have, over the temperature, in the loss")
      ->check(CLI::Range(0.0, 1e3))
      ->capture_default_str();
  app.add_flag("--average", arguments.imitate.average, "weights are the mean of those of the last half of the steps");
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  app.add_option("--restarts", arguments.restarts, "starts from other seeds")->check(CLI::Range(1, 20));
  app.add_option("--seed", arguments.trainer.seed, "of the first start");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(std::move(arguments));
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
