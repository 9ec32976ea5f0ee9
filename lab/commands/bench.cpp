#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "lab/bench/bench.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "placement/decide/look_ahead.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct BenchArguments {
  ConsolidationArguments scenario;
  consolidation::BenchOptions bench;
  std::string output = "table", json_file, model_file;
  std::optional<std::uint64_t> first_seed;
};

Status run(BenchArguments arguments) {
  consolidation::BenchOptions& bench = arguments.bench;
  WATTLE_CHECK(apply(arguments.scenario));
  bench.episode = arguments.scenario.options;
  bench.first_seed = arguments.first_seed.value_or(
      bench.episode.side == consolidation::Side::report ? kFirstHeldOutSeed : std::uint64_t{1});
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(bench.network, read_learned(arguments.model_file));
  }
  WATTLE_TRY(const consolidation::Dataset data, load(arguments.scenario));
  WATTLE_TRY(const consolidation::BenchResult result, consolidation::bench(data, bench));
  const std::string text =
      arguments.output == "json" ? consolidation::to_json(result) : consolidation::to_table(result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!arguments.json_file.empty())
    WATTLE_CHECK(write_file_atomically(arguments.json_file, consolidation::to_json(result)));
  return {};
}

}  // namespace

int bench(int argc, char** argv) {
  if (argc < 2 || !is_consolidation(argv[1])) return bench_suite(argc, argv);
  BenchArguments arguments;
  arguments.bench.rules = {"kube-default", "most-allocated", "round-robin", "random", "greedy",
                           "peaks",        "amortised",      "node-order",  "planner"};
  CLI::App app{
      "Compare placement rules on the same fleets and pods; full knowledge is the annealed placement of a fill",
      "wattle-lab bench"};
  add_consolidation_options(app, arguments.scenario);
  add_checked(app, "--seeds", arguments.bench.seeds, "number of fleets", CLI::Range(1, 1000));
  app.add_option("--first-seed", arguments.first_seed, "default: 2000000 for reporting, 1 for training");
  app.add_option("--nodes", arguments.bench.nodes, "sizes of the fleet")->delimiter(',')->check(CLI::Range(1, 100'000));
  app.add_flag("--cold", arguments.bench.cold,
               "the controller starts without knowledge (default: with a day of this cluster)");
  add_checked(app, "--defer", arguments.bench.defer_s, "longest time in seconds that a pod may be deferred",
              CLI::Range(0.0, 3600.0));
  add_checked(app, "--look-ahead", arguments.bench.look_ahead,
              "number of next pods known to a decision: waiting pods, then arriving pods",
              CLI::Range(std::size_t{0}, placement::kMaxAhead));
  add_checked(app, "--owner-share", arguments.scenario.options.owner_share,
              "share of an owner's replicas that a node or zone may hold; 1: no cap", CLI::Range(0.0, 1.0));
  add_checked(app, "--zones", arguments.scenario.options.zones,
              "number of zones, which the nodes take in turn; 0: none", CLI::Range(0, 100));
  add_checked(app, "--pairs", arguments.scenario.options.pairs,
              "one in ten pairs of applications disturb each other, so their work takes 1 + this times as long on the "
              "same node; policies do not know the pairs",
              CLI::Range(0.0, 10.0));
  app.add_option(
         "--policies,--rules", arguments.bench.rules,
         "policies (docs/reference/policies.md); planner+requests also sets requests, planner+cpu-requests only "
         "those of CPU")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--model", arguments.model_file, "safetensors file of the policy dqn or tabular-q");
  add_checked(app, "--margin", arguments.bench.learned.margin,
              "dqn: margin in W0 by which another node must beat the planner's node", CLI::Range(0.0, 100.0));
  add_checked(app, "--moves", arguments.bench.moves_per_pod,
              "annealing steps per pod; 0: no reference (also with --sizes openb or --crowded)",
              CLI::Range(0, 10'000'000));
  app.add_option("-o,--output", arguments.output, "output format: table or json")
      ->check(CLI::IsMember({"table", "json"}));
  app.add_option("--json", arguments.json_file, "also write JSON to this file");
  return run_command(app, argc, argv, [&] { return run(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
