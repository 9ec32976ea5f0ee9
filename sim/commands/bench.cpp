#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "sim/commands/commands.hpp"
#include "sim/evaluate.hpp"
#include "sim/x8/bench.hpp"

namespace wattle::sim::commands {

namespace {

struct BenchArguments {
  std::string scenario;
  x8::BenchOptions bench;
  std::string knowledge = "true", side = "report", fill = "60-68", trace_dir, output = "table", json_file;
  double demand_scale = 3;
  std::optional<std::uint64_t> first_seed;
};

Status set_fill(const std::string& text, x8::Options& options) {
  double low = 0, high = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%lf-%lf%n", &low, &high, &used) != 2 ||
      static_cast<std::size_t>(used) != text.size() || !(low > 0 && low <= high && high <= 100))
    return fail(Errc::malformed, "--fill " + text, "is not LOW-HIGH in percent, e.g. 60-68");
  options.fill_low = low / 100;
  options.fill_high = high / 100;
  return {};
}

Status run(BenchArguments arguments) {
  x8::BenchOptions& bench = arguments.bench;
  WATTLE_CHECK(set_fill(arguments.fill, bench.episode));
  bench.episode.knowledge = arguments.knowledge == "true" ? x8::Knowledge::truth : x8::Knowledge::production;
  bench.episode.side = arguments.side == "report" ? x8::Side::report : x8::Side::train;
  bench.first_seed =
      arguments.first_seed.value_or(bench.episode.side == x8::Side::report ? kFirstHeldOutSeed : std::uint64_t{1});
  x8::Dataset data;
  if (arguments.trace_dir.empty()) {
    data = x8::synthetic_dataset(arguments.demand_scale);
  } else {
    WATTLE_TRY(data, x8::load_dataset(arguments.trace_dir, arguments.demand_scale));
  }
  WATTLE_TRY(const x8::BenchResult result, x8::bench(data, bench));
  const std::string text = arguments.output == "json" ? x8::to_json(result) : x8::to_table(result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!arguments.json_file.empty()) WATTLE_CHECK(write_file_atomically(arguments.json_file, x8::to_json(result)));
  return {};
}

}  // namespace

int bench(int argc, char** argv) {
  BenchArguments arguments;
  arguments.bench.rules = {"kube_default", "most_allocated", "round_robin", "random",
                           "greedy",       "peaks",          "amortised",   "planner"};
  x8::Options& options = arguments.bench.episode;
  CLI::App app{"Placement rules on the same fleets and pods; full knowledge is the annealed placement of a fill",
               "wattle-sim bench"};
  app.add_option("scenario", arguments.scenario, "x8: heterogeneous servers, real or synthetic demand")
      ->required()
      ->check(CLI::IsMember({"x8"}));
  app.add_option("--seeds", arguments.bench.seeds, "how many fleets")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--first-seed", arguments.first_seed, "default: 2000000 for reporting, 1 for training");
  app.add_option("--nodes", arguments.bench.nodes, "sizes of the fleet")->delimiter(',')->check(CLI::Range(1, 10'000));
  app.add_flag("--sleep", options.sleep, "idle nodes sleep");
  app.add_flag("--churn", options.churn, "pods come and go; default: they come and stay");
  app.add_option("--fill", arguments.fill, "requested percent of all cores when the last pod comes")
      ->capture_default_str();
  app.add_flag("--fill-told", options.fill_told, "rules are told the number of pods that will come");
  app.add_option("--knowledge", arguments.knowledge, "true: real curves and mean demand; production: learned")
      ->check(CLI::IsMember({"true", "production"}))
      ->capture_default_str();
  app.add_option("--readings", options.past_readings, "of watts, of each server, that production begins with")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--past-pods", options.past_pods, "of each application, that production has seen")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
  app.add_option("--demand-scale", arguments.demand_scale, "cores of a pod per core of its machine")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--side", arguments.side, "servers and days for reporting, or those for training and tuning")
      ->check(CLI::IsMember({"report", "train"}))
      ->capture_default_str();
  app.add_option("--rules", arguments.bench.rules, "which")->delimiter(',')->capture_default_str();
  app.add_option("--moves", arguments.bench.moves_per_pod, "of annealing, per pod; 0: no reference")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  app.add_option("-o,--output", arguments.output, "table or json")->check(CLI::IsMember({"table", "json"}));
  app.add_option("--json", arguments.json_file, "writes JSON to this file as well");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(std::move(arguments));
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
