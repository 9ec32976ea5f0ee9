#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/commands/commands.hpp"
#include "lab/judges/provision.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"

namespace wattle::sim::commands {

namespace {

struct ProvisionArguments {
  ProvisionWorldArguments world;
  std::vector<std::string> contestants;
  std::string json_file;
  std::size_t seeds = stats::kLeastSeeds;
  std::uint64_t first_seed = 2'000'000;
};

Status run_provision(const ProvisionArguments& arguments) {
  provision::JudgeOptions options;
  WATTLE_TRY(options.traces, provision_traces(arguments.world));
  options.contestants = arguments.contestants;
  options.world = provision_world(arguments.world);
  options.seeds = arguments.seeds;
  options.first_seed = arguments.first_seed;
  WATTLE_TRY(const provision::Judgement judgement, provision::judge(options, ProgressBar().callback()));
  std::fputs(provision::judgement_text(options, judgement).c_str(), stdout);
  if (arguments.json_file.empty()) return {};
  return write_whole(arguments.json_file, provision::judgement_json(options, judgement));
}

}  // namespace

int provision(int argc, char** argv) {
  ProvisionArguments arguments;
  CLI::App app{
      "Evaluate rules that set CPU limits by the cores granted to a service under a rate trace, while at most a share "
      "of minutes has its 99th percentile over the target; everything simulated",
      "wattle-lab provision"};
  add_provision_options(app, arguments.world);
  app.add_option("--contestants", arguments.contestants, "rules to evaluate (default: all)")->delimiter(',');
  add_checked(app, "--seeds", arguments.seeds, "number of seeds", CLI::Range(1, 1000));
  app.add_option("--first-seed", arguments.first_seed, "first seed")->capture_default_str();
  app.add_option("--json", arguments.json_file, "file for the results of all settings and seeds");
  return run_command(app, argc, argv, [&] { return run_provision(arguments); });
}

}  // namespace wattle::sim::commands
