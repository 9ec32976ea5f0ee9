#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/bench/sleep_bench.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct SleepArguments {
  consolidation::SleepBenchOptions bench;
  std::string depth = "off", side = "report", trace_dir;
};

Status run(SleepArguments arguments) {
  for (const placement::sleep::Depth each : placement::sleep::kDepths)
    if (arguments.depth == placement::sleep::to_string(each)) arguments.bench.depth = each;
  arguments.bench.episode.side = side_of(arguments.side);
  WATTLE_TRY(const consolidation::Dataset data, load(arguments.trace_dir));
  WATTLE_TRY(const std::string text, consolidation::sleep_bench(data, arguments.bench));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

}  // namespace

int sleep(int argc, char** argv) {
  SleepArguments arguments;
  consolidation::SleepBenchOptions& bench = arguments.bench;
  bench.first_seed = kFirstHeldOutSeed;
  CLI::App app{"Compare rules that put nodes to sleep, on the same fleets and pods", "wattle-lab sleep"};
  app.add_option("--nodes", bench.nodes, "sizes of the fleet")->delimiter(',')->check(CLI::Range(1, 1000));
  add_checked(app, "--seeds", bench.seeds, "number of fleets", CLI::Range(1, 1000));
  app.add_option("--first-seed", bench.first_seed, "seed of the first fleet")->capture_default_str();
  app.add_option("--rules", bench.rules, "rules, in the order of the table")->delimiter(',')->capture_default_str();
  add_checked(app, "--depth", arguments.depth, "suspend: to memory, 5 s; off: boot and shutdown, 158 s",
              CLI::IsMember({"suspend", "off"}));
  add_checked(app, "--fill", bench.episode.fill, "requested share of all cores at the daily peak, on average",
              CLI::Range(0.01, 1.0));
  add_checked(app, "--wave", bench.episode.wave, "share of the peak by which the demand falls at night; 0: no wave",
              CLI::Range(0.0, 1.0));
  add_checked(app, "--bursts", bench.episode.bursts_per_day, "bursts a day, at the same times of each day",
              CLI::Range(0, 24));
  add_checked(app, "--days", bench.episode.days, "measured days, after two days of learning", CLI::Range(1, 30));
  add_side_option(app, arguments.side);
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
