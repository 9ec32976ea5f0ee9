#include "lab/ablations/adapt.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "models/frozen/layout.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct AdaptArguments {
  ConsolidationArguments scenario;
  consolidation::AdaptOptions adapt;
  models::TrainerOptions trainer;
  std::string initial_file, json_file, side = "report";
};

std::string percent(const std::optional<Interval>& interval) {
  return interval ? interval_text(*interval, {.scale = 100, .sign = true}) : "-";
}

SortedJson gate_json(const consolidation::AdaptRow& row) {
  constexpr std::array<const char*, 3> kNames{"learned_over_start", "learned_over_planner", "start_over_planner"};
  SortedJson clusters = SortedJson::array();
  for (const auto& seen : row.gate) {
    SortedJson cluster;
    for (std::size_t i = 0; i < kNames.size(); ++i) cluster[kNames[i]] = {seen[i].mean, seen[i].low, seen[i].high};
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

SortedJson to_json(const consolidation::AdaptResult& result) {
  SortedJson rows = SortedJson::array();
  for (const consolidation::AdaptRow& row : result.rows)
    rows.push_back({{"name", row.name},
                    {"energy_j", row.energy_j},
                    {"cpu_waiting_from_second_hour", row.waiting},
                    {"wait_limit", row.wait_limit},
                    {"serves", row.serves},
                    {"gate", gate_json(row)}});
  return {{"clusters", result.clusters}, {"decisions", result.decisions}, {"rows", std::move(rows)}};
}

Status run(AdaptArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  consolidation::AdaptOptions& options = arguments.adapt;
  options.online.episode = arguments.scenario.options;
  options.side = arguments.side == "train" ? consolidation::Side::train : consolidation::Side::report;
  options.start = models::initial_weights(arguments.trainer.seed);
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(const auto network, read_network(arguments.initial_file));  // rejects another schema
    static_cast<void>(network);
    WATTLE_TRY(auto file, read_model(arguments.initial_file));
    options.start = std::move(file.tensors);
  }
  WATTLE_TRY(const auto data, load(arguments.scenario));
  ProgressBar bar;
  WATTLE_TRY(const consolidation::AdaptResult result,
             consolidation::adapt(
                 data, options,
                 [&](const std::optional<models::Weights>& initial) {
                   return models::make_torch_policy_trainer(arguments.trainer, initial);
                 },
                 [&](double done, const std::string& next) { bar.show(done, next); }));
  std::printf("%zu clusters of %zu nodes, %zu days lived (%llu decisions), %zu other days judged; IQM [95%%], %%\n",
              result.clusters.size(), options.online.episode.nodes, options.online.episodes,
              static_cast<unsigned long long>(result.decisions), options.judged_days);
  std::printf("%-10s %28s %28s   %s\n", "", "energy / planner - 1", "energy / start - 1", "waiting % (limit)");
  for (const consolidation::AdaptRow& row : result.rows) {
    std::printf("%-10s %28s %28s", row.name.c_str(), percent(row.over_planner).c_str(),
                percent(row.over_start).c_str());
    std::printf("   %.2f (%.2f)", 100 * mean(row.waiting), 100 * mean(row.wait_limit));
    if (row.name == "recorded")
      std::printf("   planner, start, learned serve on %zu, %zu, %zu", row.serves[0], row.serves[1], row.serves[2]);
    std::printf("\n");
  }
  std::printf("%s", seeds_note(result.clusters.size(), "--clusters").c_str());
  if (!arguments.json_file.empty())
    WATTLE_CHECK(write_file_atomically(arguments.json_file, to_json(result).dump() + "\n"));
  return {};
}

}  // namespace

int adapt(int argc, char** argv) {
  AdaptArguments arguments;
  consolidation::AdaptOptions& options = arguments.adapt;
  options.first_cluster = kFirstHeldOutSeed;
  options.online.episodes = 4;
  arguments.scenario.cluster_model = "production";
  options.hindsight.labels.per_episode = 200;
  options.hindsight.imitate.epochs = 12;
  options.hindsight.imitate.anchor_share = 0.2;
  CLI::App app{
      "Train networks on a cluster for some days and evaluate them there on other days, with consolidation_churn",
      "wattle-lab adapt"};
  add_consolidation_options(app, arguments.scenario);
  app.add_option("--initial", arguments.initial_file, "initial network (default: an untrained network)");
  app.add_option("--clusters", options.clusters, "number of clusters, with seeds from 2000000")
      ->check(CLI::Range(1, 1000));
  app.add_option("--nodes", arguments.scenario.options.nodes, "of each")->check(CLI::Range(2, 1000));
  app.add_option("--days", options.online.episodes, "lived")->check(CLI::Range(1, 400))->capture_default_str();
  app.add_option("--judged-days", options.judged_days, "afterwards")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--contestants", options.contestants,
                 "planner, start, online (anchored), free, scratch, guarded, recorded")
      ->delimiter(',')
      ->check(CLI::IsMember({"planner", "start", "online", "free", "scratch", "guarded", "recorded"}));
  app.add_option("--labels", options.hindsight.labels.per_episode, "evaluated decisions of a recorded day")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--plays", options.hindsight.plays,
                 "whole recorded days, to choose a pass over the labels, and to judge")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--epochs", options.hindsight.imitate.epochs, "passes over the judged decisions")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--side", arguments.side, "servers and days: report, or train (to tune options)")
      ->check(CLI::IsMember({"report", "train"}));
  app.add_option("--pairs", arguments.scenario.options.shift.pairs,
                 "pairs of applications disturb each other, as in bench; energy is for the same work")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--margin", options.margin,
                 "margin in W0 by which another node must beat the planner's node in the evaluation");
  app.add_flag("--cold", options.cold,
               "evaluated days start without knowledge (default: with the knowledge of the last training day)");
  app.add_option("--n-step", options.online.learner.n_step, "decisions until bootstrapping")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam")
      ->check(CLI::Range(1e-7, 1.0))
      ->capture_default_str();
  app.add_option("--seed", arguments.trainer.seed, "seed of the initial weights");
  app.add_option("--json", arguments.json_file, "write the energy of each cluster to this file");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
