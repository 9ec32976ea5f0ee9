#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "lab/report/suite.hpp"
#include "placement/learn/tabular.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"

namespace wattle::sim::commands {

namespace {

struct SuiteArguments {
  suite::Options options;
  std::string preset = "weighted", load = "pods", trace_dir, model_file, pretrained_dir, consolidation_model_file,
              html_file, json_file;
  std::vector<std::string> weights, curve_files;
  std::optional<std::uint64_t> first_seed;
};

Result<std::vector<suite::Curve>> read_curves(const std::vector<std::string>& files) {
  std::vector<suite::Curve> curves;
  for (const std::string& file : files) {
    WATTLE_TRY(const std::string text, read_file(file, 16 << 20));
    const auto reported = SortedJson::read(text, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
    try {
      curves.push_back({.name = reported.at("name").get<std::string>(),
                        .decisions = reported.at("decisions").get<std::vector<double>>(),
                        .reward = reported.at("reward").get<std::vector<double>>()});
    } catch (const SortedJson::exception& error) {
      return fail(Errc::malformed, file, error.what(), "use a file written by wattle-sim train --curve");
    }
    const suite::Curve& curve = curves.back();
    if (curve.decisions.size() != curve.reward.size() || curve.reward.empty())
      return fail(Errc::malformed, file, "the numbers of rewards and decisions differ");
  }
  return curves;
}

// Networks and their policies; the contestants reference the networks.
struct Learned {
  std::vector<std::shared_ptr<const models::QNetwork>> networks;
  std::vector<Contestant> contestants;
  void add(std::string name, std::shared_ptr<const models::QNetwork> network, placement::RewardConfig reward) {
    contestants.push_back({std::move(name), Binding::advised, std::string(placement::policy_of(*network)),
                           network.get(), std::move(reward)});
    networks.push_back(std::move(network));
  }
};

// Adds PRESET.safetensors of that folder, each with its own reward, in the order of their names.
Status add_pretrained(Learned& learned, const std::string& folder, const placement::RewardConfig& reward) {
  constexpr std::string_view kEnding = ".safetensors";
  WATTLE_TRY(const auto dir, Dir::open_(folder));
  WATTLE_TRY(const auto entries, dir.list());
  const std::size_t before = learned.networks.size();
  for (const DirEntry& entry : entries) {
    const std::string& file = entry.name;
    if (!file.ends_with(kEnding)) continue;
    const std::string preset = file.substr(0, file.size() - kEnding.size());
    placement::RewardConfig own = reward;
    WATTLE_TRY(own.preset, placement::parse_preset(preset));
    WATTLE_TRY(auto network, read_network(std::string(folder).append("/").append(file)));
    learned.add("dqn_" + preset, std::move(network), own);
  }
  if (learned.networks.size() == before)
    return fail(Errc::not_found, folder, "contains no policy",
                "use a folder with PRESET.safetensors, for example models/pretrained");
  return {};
}

constexpr stats::NumberForm kPercent{.decimals = 1, .scale = 100, .sign = true, .unit = "%"};

void print_comparisons(const suite::Entry& entry) {
  for (const suite::Comparison& each : entry.comparisons)
    std::printf("  %s/%s %s%s", each.column.c_str(), each.base.c_str(),
                interval_text(each.against.ratio, kPercent).c_str(), each.against.holm_p < 0.05 ? "*" : "");
}

void print_summary(const suite::SuiteResult& result) {
  for (const suite::TrialResult& trial : result.trials) {
    std::printf("%s, %zu seeds\n", std::string(trial.scenario.name).c_str(), trial.seeds.size());
    for (const suite::Entry& entry : trial.entries) {
      std::printf("  %-20s", entry.name.c_str());
      if (entry.energy)
        std::printf(" energy %s%s", interval_text(entry.energy->ratio, kPercent).c_str(),
                    entry.energy->holm_p < 0.05 ? "*" : " ");
      // Joules are always printed with the cost that they caused.
      for (const suite::Column& column : suite::columns())
        if (column.name == "waiting_pct" || column.name == trial.trial.merits[0] ||
            column.name == trial.trial.merits[1]) {
          const Interval figure = entry.of(column);
          std::printf("  %s %s", std::string(column.name).c_str(), interval_text(figure, {.decimals = 3}).c_str());
        }
      print_comparisons(entry);
      if (entry.recovered_after)
        std::printf("  recovered_after %s", interval_text(*entry.recovered_after, {.decimals = 0}).c_str());
      if (entry.lost_to_burst) std::printf("  lost_to_burst %s", interval_text(*entry.lost_to_burst, kPercent).c_str());
      if (entry.worst_window) std::printf("  worst_window %+.1f%%", 100 * *entry.worst_window);
      std::printf("\n");
    }
    std::printf("%s", seeds_note(trial.seeds.size(), "--seeds").c_str());
  }
  for (const suite::ConsolidationResult& each : result.consolidation)
    std::printf("\n%s: %s", each.name.c_str(), consolidation::to_table(each.bench).c_str());
}

Status run(SuiteArguments arguments) {
  suite::Options& options = arguments.options;
  WATTLE_TRY(options.reward.preset, placement::parse_preset(arguments.preset));
  WATTLE_TRY(options.reward.load, placement::parse_load_kind(arguments.load));
  for (const std::string& weight : arguments.weights) WATTLE_CHECK(set_weight(options.reward.weights, weight));
  if (arguments.first_seed) options.first_seed = *arguments.first_seed;
  Learned learned;
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(auto network, read_learned(arguments.model_file));
    std::string name(placement::policy_of(*network));
    learned.add(std::move(name), std::move(network), options.reward);
  }
  if (!arguments.pretrained_dir.empty())
    WATTLE_CHECK(add_pretrained(learned, arguments.pretrained_dir, options.reward));
  if (!arguments.consolidation_model_file.empty()) {
    WATTLE_TRY(options.consolidation_network, read_network(arguments.consolidation_model_file));
  }
  options.contestants = suite::standard_contestants(learned.contestants);
  if (!arguments.trace_dir.empty()) {
    WATTLE_TRY(options.measured, load_servers(arguments.trace_dir));
  }
  WATTLE_TRY(options.consolidation, load(arguments.trace_dir));
  WATTLE_TRY(const auto curves, read_curves(arguments.curve_files));
  WATTLE_TRY(const suite::SuiteResult result, suite::run(options, ProgressBar().callback()));
  const std::string json = suite::to_json(result, curves);
  if (!arguments.json_file.empty()) WATTLE_CHECK(write_file_atomically(arguments.json_file, json));
  if (!arguments.html_file.empty()) WATTLE_CHECK(write_file_atomically(arguments.html_file, suite::to_html(json)));
  print_summary(result);
  return {};
}

}  // namespace

int bench_suite(int argc, char** argv) {
  SuiteArguments arguments;
  CLI::App app{
      "Evaluate every policy on every scenario with the same seeds (docs/reference/simulator.md); bench "
      "consolidation_fill and "
      "bench consolidation_churn evaluate one scenario with its options",
      "wattle-lab bench"};
  app.add_flag("--warm", arguments.options.warm,
               "the controller first observes each cluster in mode shadow for one episode with other pods");
  app.add_flag("--quick", arguments.options.quick, "short run: few seeds, short episodes, some scenarios");
  add_checked(app, "--seeds", arguments.options.seeds, "number of seeds", CLI::Range(1, 1000));
  app.add_option("--first-seed", arguments.first_seed,
                 "first seed (default: 2000000, not used for training or tuning)");
  app.add_option("--scenarios", arguments.options.trials,
                 "names listed by wattle-sim scenarios, and consolidation (default: all)")
      ->delimiter(',');
  app.add_option("--model", arguments.model_file, "safetensors file whose policy, dqn or tabular-q, is evaluated too");
  app.add_option("--pretrained", arguments.pretrained_dir,
                 "folder with PRESET.safetensors: each is evaluated as dqn_PRESET with its own reward");
  app.add_option("--consolidation-model", arguments.consolidation_model_file,
                 "safetensors file of wattle-lab imitate, for the policy dqn in consolidation");
  app.add_option("--reward", arguments.preset, "preset of the priors and the network")->capture_default_str();
  add_load_option(app, arguments.load);
  app.add_option("--weight", arguments.weights, "weight of the preset weighted as NAME=NUMBER; can be repeated");
  app.add_option("--curve", arguments.curve_files, "file written by train --curve, for the report; can be repeated");
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
  app.add_option("--html", arguments.html_file, "write the report to this file");
  app.add_option("--json", arguments.json_file, "write JSON to this file");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
