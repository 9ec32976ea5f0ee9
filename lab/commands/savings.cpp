#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/bench/savings_run.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/consolidation_arguments.hpp"
#include "sim/commands/arguments.hpp"

namespace wattle::sim::commands {

namespace {

struct SavingsArguments {
  ConsolidationArguments scenario;
  consolidation::BenchOptions bench;
  std::size_t weeks = 6;
};

Status run_savings_weeks(SavingsArguments arguments) {
  WATTLE_TRY(arguments.bench.episode, churn_under_controller(arguments.scenario, "savings"));
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
  add_fleet_options(app, arguments.bench.seeds, arguments.bench.first_seed, arguments.bench.nodes.front());
  add_checked(app, "--weeks", arguments.weeks, "weeks of a fleet, each compared with the projection at its beginning",
              CLI::Range(1, 52));
  app.add_option("--policy", arguments.bench.rules.front(), "policy that places the pods")->capture_default_str();
  return run_command(app, argc, argv, [&] { return run_savings_weeks(std::move(arguments)); });
}

}  // namespace wattle::sim::commands
