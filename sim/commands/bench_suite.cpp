#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/dir.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/suite/suite.hpp"

namespace wattle::sim::commands {

namespace {

struct SuiteArguments {
  suite::Options options;
  std::string preset = "weighted", trace_dir, model_file, html_file, json_file;
  std::vector<std::string> weights, curve_files;
  std::optional<std::uint64_t> first_seed;
};

Result<std::vector<suite::Curve>> read_curves(const std::vector<std::string>& files) {
  std::vector<suite::Curve> curves;
  for (const std::string& file : files) {
    WATTLE_TRY(const std::string text, read_whole(file, 16 << 20));
    const auto told = nlohmann::json::parse(text, nullptr, false);
    try {
      curves.push_back({told.at("name"), told.at("decisions"), told.at("reward")});
    } catch (const nlohmann::json::exception& error) {
      return fail(Errc::malformed, file, error.what(), "give what wattle-sim train --curve wrote");
    }
    const suite::Curve& curve = curves.back();
    if (curve.decisions.size() != curve.reward.size() || curve.reward.empty())
      return fail(Errc::malformed, file, "has not as many rewards as decisions");
  }
  return curves;
}

void print_summary(const suite::SuiteResult& result) {
  for (const suite::TrialResult& trial : result.trials) {
    std::printf("%s %s, %zu seeds\n", std::string(trial.trial.id).c_str(), std::string(trial.scenario.name).c_str(),
                trial.seeds.size());
    for (const suite::Entry& entry : trial.entries) {
      std::printf("  %-20s", entry.name.c_str());
      if (entry.energy)
        std::printf(" energy %+6.1f%% [%+.1f, %+.1f]%s", 100 * entry.energy->ratio.mean, 100 * entry.energy->ratio.low,
                    100 * entry.energy->ratio.high, entry.energy->holm_p < 0.05 ? "*" : " ");
      for (const suite::Column& column : suite::columns())
        if (column.name == trial.trial.merits[0] || column.name == trial.trial.merits[1]) {
          const Interval figure = entry.of(column);
          std::printf("  %s %.4g [%.4g, %.4g]", std::string(column.name).c_str(), figure.mean, figure.low, figure.high);
        }
      if (entry.recovered_after)
        std::printf("  recovered_after %.0f [%.0f, %.0f]", entry.recovered_after->mean, entry.recovered_after->low,
                    entry.recovered_after->high);
      if (entry.lost_to_burst)
        std::printf("  lost_to_burst %+.1f%% [%+.1f, %+.1f]", 100 * entry.lost_to_burst->mean,
                    100 * entry.lost_to_burst->low, 100 * entry.lost_to_burst->high);
      if (entry.worst_window) std::printf("  worst_window %+.1f%%", 100 * *entry.worst_window);
      std::printf("\n");
    }
  }
  for (const suite::X8Result& each : result.x8)
    std::printf("\n%s: %s", each.name.c_str(), x8::to_table(each.bench).c_str());
}

Status run(SuiteArguments arguments) {
  suite::Options& options = arguments.options;
  WATTLE_TRY(options.reward.preset, placement::parse_preset(arguments.preset));
  for (const std::string& weight : arguments.weights) WATTLE_CHECK(set_weight(options.reward.weights, weight));
  if (arguments.first_seed) options.first_seed = *arguments.first_seed;
  std::shared_ptr<const models::FrozenNetwork> network;
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(network, read_network(arguments.model_file));
  }
  options.contestants = suite::standard_contestants(network.get());
  constexpr double kDemandScale = 3;
  if (arguments.trace_dir.empty()) {
    options.x8 = x8::synthetic_dataset(kDemandScale);
  } else {
    WATTLE_TRY(options.measured, load_servers(arguments.trace_dir));
    WATTLE_TRY(options.x8, x8::load_dataset(arguments.trace_dir, kDemandScale));
  }
  WATTLE_TRY(const auto curves, read_curves(arguments.curve_files));
  ProgressBar bar;
  WATTLE_TRY(const suite::SuiteResult result,
             suite::run(options, [&](double done, const std::string& next) { bar.show(done, next); }));
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
      "Every scenario and every rule on the same seeds (docs/simulator.md); bench x8 has X8 alone with its options",
      "wattle-sim bench"};
  app.add_flag("--quick", arguments.options.quick, "the short run: few seeds, short episodes, some of the scenarios");
  app.add_option("--seeds", arguments.options.seeds, "how many")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--first-seed", arguments.first_seed, "default: 2000000, which nothing is trained or tuned on");
  app.add_option("--scenarios", arguments.options.trials, "X1,X3,...; default: all")->delimiter(',');
  app.add_option("--model", arguments.model_file, "safetensors file: the policy dqn takes part");
  app.add_option("--reward", arguments.preset, "preset that the priors and the network go by")->capture_default_str();
  app.add_option("--weight", arguments.weights, "NAME=NUMBER, of the preset weighted; may be repeated");
  app.add_option("--curve", arguments.curve_files, "what train --curve wrote, for the report; may be repeated");
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
  app.add_option("--html", arguments.html_file, "writes the report to this file");
  app.add_option("--json", arguments.json_file, "writes JSON to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(std::move(arguments));
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
