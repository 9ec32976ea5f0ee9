#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/bench/savings_run.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/options.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct SavingsArguments {
  ConsolidationArguments scenario;
  consolidation::BenchOptions bench;
  std::size_t weeks = 6;
  std::string side = "report";
};

Status run_savings_weeks(SavingsArguments arguments) {
  WATTLE_CHECK(apply(arguments.scenario));
  arguments.bench.episode = arguments.scenario.options;
  if (arguments.side == "train") arguments.bench.episode.side = consolidation::Side::train;
  if (!arguments.bench.episode.churn)
    return fail(Errc::out_of_range, "savings", "needs pods that come and go", "use consolidation_churn");
  WATTLE_TRY(const consolidation::Dataset data, load(arguments.scenario));
  WATTLE_TRY(const auto runs, consolidation::run_savings(data, arguments.bench, arguments.weeks));
  std::printf("%s", consolidation::savings_table(runs).c_str());
  return {};
}

}  // namespace

int savings(int argc, char** argv) {
  SavingsArguments arguments;
  arguments.scenario.cluster_model = "production";
  arguments.bench.rules = {"planner"};
  CLI::App app{"Compare the saving of right sizes that wattle savings projects with what they save in the week after",
               "wattle-lab savings"};
  add_consolidation_options(app, arguments.scenario);
  add_fleet_options(app, arguments.bench);
  add_checked(app, "--weeks", arguments.weeks, "weeks of a fleet, each compared with the projection at its beginning",
              CLI::Range(1, 52));
  add_checked(app, "--side", arguments.side, "servers and days: for reporting, or for training and tuning",
              CLI::IsMember({"report", "train"}));
  app.add_option("--policy", arguments.bench.rules.front(), "policy that places the pods")->capture_default_str();
  return run_command(app, argc, argv, [&] { return run_savings_weeks(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
