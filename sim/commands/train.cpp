#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/env/train.hpp"

namespace wattle::sim::commands {

namespace {

struct TrainArguments {
  WorldArguments world;
  std::string out_file;
  std::uint64_t steps = 20'000;
  std::uint64_t seed = 1;
  models::TrainerOptions trainer;
  double reward_scale = 1;
  std::optional<std::size_t> n_step;
  std::optional<double> horizon_decisions;
  std::size_t restarts = 1;
  std::string curve_file;
  std::string kept_in, name = "trained";  // CheckpointDir
  bool resume = false;
  std::string prior = "preset", network = "deepsets";
  bool tabular() const { return network == "tabular"; }
  bool on_prior() const { return prior != "none" && !tabular(); }
};

constexpr std::size_t kValidationEpisodes = 10;

// Episodes' rewards over decisions, one curve per restart.
class Curves {
 public:
  void add(const TrainProgress& progress) {
    if (curves_.empty() || static_cast<double>(progress.decisions) < curves_.back().first.back())
      curves_.emplace_back();
    curves_.back().first.push_back(static_cast<double>(progress.decisions));
    curves_.back().second.push_back(progress.episode_reward);
  }
  Status write(const std::string& file, const std::string& name, std::size_t restart) const {
    const auto& [decisions, reward] = curves_.at(restart);
    const SortedJson out = {{"name", name}, {"decisions", decisions}, {"reward", reward}};
    return write_file_atomically(file, out.dump() + "\n");
  }

 private:
  std::vector<std::pair<std::vector<double>, std::vector<double>>> curves_;
};

// Writes a controller's checkpoint (models/frozen/prefixed), so that `wattle model load` accepts it.
Status keep(const models::CheckpointDir& dir, const TrainArguments& arguments, const TrainResult& result) {
  models::Weights all;
  models::add_prefixed(all, result.state.trainer, models::kNetworkPrefix);
  models::add_prefixed(all, result.state.learner, models::kLearnerPrefix);
  models::Manifest manifest;
  manifest.schema = placement::feature_schema_hash();
  manifest.step = result.last.learner.steps;
  manifest.wall = SystemClock().wall();
  manifest.network = models::network_digest(result.weights);
  manifest.reward = arguments.world.preset;
  manifest.on_prior = arguments.on_prior();
  manifest.figures = {{"decisions", static_cast<double>(result.state.decisions)},
                      {"episodes", static_cast<double>(result.state.episodes)},
                      {"next_id", static_cast<double>(result.state.next_id)},
                      {"clock_s", result.state.clock_s},
                      {"seed", static_cast<double>(result.seed)},
                      {"validation_reward", result.validation_reward}};
  WATTLE_TRY(const std::string file, dir.save_as(arguments.name, all, manifest));
  std::printf("%s: kept as %s; continue with `wattle-sim train --resume` or `wattle model load %s`\n", file.c_str(),
              arguments.name.c_str(), arguments.name.c_str());
  return {};
}

Result<TrainState> kept(const models::CheckpointDir& dir, const TrainArguments& arguments) {
  WATTLE_TRY(const models::LoadedCheckpoint loaded, dir.load(arguments.name, placement::feature_schema_hash()));
  if (loaded.manifest.on_prior.value_or(models::had_prior(arguments.world.preset)) != arguments.on_prior())
    return fail(Errc::conflict, "--prior " + arguments.prior, "is not that of " + loaded.file, "use the other prior");
  const auto figure = [&](const char* name) -> Result<double> {
    const auto found = loaded.manifest.figures.find(name);
    if (found == loaded.manifest.figures.end() || found->second < 0)
      return fail(Errc::malformed, loaded.file, std::string("was not written by wattle-sim train: no ") + name,
                  "use a name that --keep wrote");
    return found->second;
  };
  WATTLE_TRY(const double decisions, figure("decisions"));
  WATTLE_TRY(const double episodes, figure("episodes"));
  WATTLE_TRY(const double next_id, figure("next_id"));
  WATTLE_TRY(const double clock_s, figure("clock_s"));
  if (decisions >= static_cast<double>(arguments.steps))
    return fail(Errc::out_of_range, "--steps " + std::to_string(arguments.steps),
                "model " + arguments.name + " has already learned from " + std::to_string(std::llround(decisions)),
                "use a larger total");
  return TrainState{models::with_prefix(loaded.tensors, models::kNetworkPrefix),
                    models::with_prefix(loaded.tensors, models::kLearnerPrefix),
                    static_cast<std::uint64_t>(decisions),
                    static_cast<std::uint64_t>(episodes),
                    static_cast<std::uint64_t>(next_id),
                    clock_s};
}

// A table has a mean for each cell, which has the least noise with one step and a short horizon.
struct Defaults {
  std::size_t n_step;
  double horizon_decisions;
};
Defaults defaults_of(const TrainArguments& arguments) {
  return arguments.tabular() ? Defaults{1, 1} : Defaults{10, 100};
}

Result<std::unique_ptr<models::QTrainer>> make_trainer(const TrainArguments& arguments,
                                                       const models::TrainerOptions& options) {
  if (arguments.tabular()) return placement::make_tabular_trainer();
  return models::make_torch_trainer(options);
}

Status check_train(const CLI::App& app, const TrainArguments& arguments) {
  if (!arguments.tabular()) return {};
  for (const char* option : {"--prior", "--learning-rate", "--huber-delta"})
    if (app.count(option) > 0)
      return fail(Errc::conflict, option, "needs --network deepsets: a table has no prior and no gradient", "omit it");
  return {};
}

Status run(const TrainArguments& arguments) {
  if (arguments.resume && (arguments.kept_in.empty() || arguments.restarts > 1))
    return fail(Errc::conflict, "--resume", "continues one stored training", "use --keep DIR without --restarts");
  TrainOptions options;
  WATTLE_TRY(options.env, env_options(arguments.world));
  options.env.reward.with_prior = arguments.on_prior();
  options.seed = arguments.seed;
  options.decisions = arguments.steps;
  options.learner = working_learner_options(
      options.env, arguments.horizon_decisions.value_or(defaults_of(arguments).horizon_decisions));
  options.learner.reward_scale = arguments.reward_scale;
  options.learner.n_step = arguments.n_step.value_or(defaults_of(arguments).n_step);
  std::optional<models::CheckpointDir> dir;
  if (!arguments.kept_in.empty()) {
    WATTLE_TRY(dir, models::CheckpointDir::open_(arguments.kept_in));
    options.learner.max_bytes = std::size_t{160} << 20U;  // of replay: limits the size of a checkpoint
  }
  if (arguments.resume) {
    WATTLE_TRY(options.resume, kept(*dir, arguments));
  }
  std::vector<std::unique_ptr<models::QTrainer>> trainers;
  std::vector<models::QTrainer*> borrowed;
  models::TrainerOptions trainer_options = arguments.trainer;
  for (std::size_t i = 0; i < arguments.restarts; ++i) {
    WATTLE_TRY(auto trainer, make_trainer(arguments, trainer_options));
    borrowed.push_back(trainer.get());
    trainers.push_back(std::move(trainer));
    trainer_options.seed += kSeedsPerRestart;
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Curves curves;
  WATTLE_TRY(
      const TrainResult result, train_best(options, borrowed, kValidationEpisodes, [&](const TrainProgress& progress) {
        curves.add(progress);
        std::fprintf(stderr, "%s%8llu/%llu decisions  %6llu steps  epsilon %.3f  reward %.4f  loss %.5f  Q %.3f%s",
                     terminal ? "\r" : "", static_cast<unsigned long long>(progress.decisions),
                     static_cast<unsigned long long>(options.decisions),
                     static_cast<unsigned long long>(progress.learner.steps), progress.epsilon, progress.episode_reward,
                     progress.learner.loss, progress.learner.mean_q, terminal ? "   " : "\n");
      }));
  if (terminal) std::fputc('\n', stderr);
  models::Safetensors model{result.weights, {}};
  model.metadata["network_sha256"] = models::network_digest(model.tensors);
  model.metadata["scenario"] = arguments.world.scenario;
  model.metadata["reward"] = arguments.world.preset;
  model.metadata["network"] = arguments.network;
  model.metadata["prior"] = arguments.on_prior() ? "preset" : "none";
  model.metadata["seed"] = std::to_string(result.seed);
  model.metadata["decisions"] = std::to_string(result.last.decisions);
  model.metadata["gradient_steps"] = std::to_string(result.last.learner.steps);
  model.metadata["feature_schema"] = placement::feature_schema_hash();
  WATTLE_CHECK(write_model(arguments.out_file, model));
  if (dir) WATTLE_CHECK(keep(*dir, arguments, result));
  if (!arguments.curve_file.empty())
    WATTLE_CHECK(curves.write(arguments.curve_file, arguments.world.preset + " on " + arguments.world.scenario,
                              (result.seed - arguments.seed) / kSeedsPerRestart));
  std::printf("%s: seed %llu, validation reward %.4f, %llu decisions, %llu gradient steps\n",
              arguments.out_file.c_str(), static_cast<unsigned long long>(result.seed), result.validation_reward,
              static_cast<unsigned long long>(result.last.decisions),
              static_cast<unsigned long long>(result.last.learner.steps));
  return {};
}

}  // namespace

int train(int argc, char** argv) {
  TrainArguments arguments;
  CLI::App app{"Train a network online in the simulated loop, on seeds that eval never uses", "wattle-sim train"};
  app.add_option("--out", arguments.out_file, "safetensors file to write")->required();
  add_checked(app, "--network", arguments.network, "deepsets, or tabular for the table of the policy tabular-q",
              CLI::IsMember({"deepsets", "tabular"}));
  add_checked(app, "--prior", arguments.prior, "prior that the network adds to: preset (that of the reward) or none",
              CLI::IsMember({"preset", "none"}));
  app.add_option("--keep", arguments.kept_in,
                 "directory for checkpoints in the controller's format, including the replay buffer");
  app.add_option("--name", arguments.name, "name of the checkpoint")->capture_default_str();
  app.add_flag("--resume", arguments.resume, "continue the checkpoint of that name in --keep until --steps in total");
  app.add_option("--curve", arguments.curve_file,
                 "write the learning curve to this file, for wattle-lab bench --curve");
  add_world_options(app, arguments.world);
  add_look_ahead_option(app, arguments.world);
  add_checked(app, "--steps", arguments.steps, "decisions to learn from", CLI::PositiveNumber);
  add_checked(app, "--seed", arguments.seed, "seed of the first episode", CLI::Range(1, 900'000));
  app.add_option("--restarts", arguments.restarts,
                 "trainings with other seeds; the best on validation seeds is written")
      ->check(CLI::Range(1, 20));
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  app.add_option("--reward-scale", arguments.reward_scale, "factor of rewards")->check(CLI::Range(1e-6, 1e3));
  add_checked(app, "--huber-delta", arguments.trainer.huber_delta, "error above which the loss is linear",
              CLI::Range(1e-3, 1e3));
  app.add_option("--n-step", arguments.n_step, "decisions until bootstrapping (default: 10, tabular 1)")
      ->check(CLI::Range(1, 200));
  app.add_option("--horizon", arguments.horizon_decisions,
                 "decisions until a reward counts 1/e (default: 100, tabular 1)")
      ->check(CLI::Range(1.0, 1e5));
  return run_command(app, argc, argv, [&]() -> Status {
    WATTLE_CHECK(check_train(app, arguments));
    arguments.trainer.seed = arguments.seed;
    return run(arguments);
  });
}

}  // namespace wattle::sim::commands
