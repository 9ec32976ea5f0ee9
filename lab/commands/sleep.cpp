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
  arguments.bench.episode.side = arguments.side == "train" ? consolidation::Side::train : consolidation::Side::report;
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
  app.add_option("--seeds", bench.seeds, "number of fleets")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--first-seed", bench.first_seed, "seed of the first fleet")->capture_default_str();
  app.add_option("--rules", bench.rules, "rules, in the order of the table")->delimiter(',')->capture_default_str();
  app.add_option("--depth", arguments.depth, "suspend: to memory, 5 s; off: boot and shutdown, 158 s")
      ->check(CLI::IsMember({"suspend", "off"}))
      ->capture_default_str();
  app.add_option("--fill", bench.episode.fill, "requested share of all cores at the daily peak, on average")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  app.add_option("--wave", bench.episode.wave, "share of the peak by which the demand falls at night; 0: no wave")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--bursts", bench.episode.bursts_per_day, "bursts a day, at the same times of each day")
      ->check(CLI::Range(0, 24))
      ->capture_default_str();
  app.add_option("--days", bench.episode.days, "measured days, after two days of learning")
      ->check(CLI::Range(1, 30))
      ->capture_default_str();
  app.add_option("--side", arguments.side, "servers and days: for reporting, or for training and tuning")
      ->check(CLI::IsMember({"report", "train"}))
      ->capture_default_str();
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
