#include "lab/commands/consolidation_arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/report/suite.hpp"
#include "sim/commands/typed.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {
constexpr std::string_view kFill = "consolidation_fill", kChurn = "consolidation_churn";
}

bool is_consolidation(std::string_view name) { return name == kConsolidation || name == kFill || name == kChurn; }

void add_consolidation_options(CLI::App& app, ConsolidationArguments& arguments) {
  consolidation::Options& options = arguments.options;
  app.add_option("scenario", arguments.scenario,
                 "pods on measured or synthetic servers that stay (_fill), or come and go (_churn)")
      ->required()
      ->check(CLI::IsMember({std::string(kFill), std::string(kChurn)}));
  app.add_flag("--sleep", options.sleep, "idle nodes sleep");
  add_checked(app, "--life", options.life_s, "seconds, mean; under churn", CLI::Range(60.0, 1e6));
  add_checked(app, "--churn-fill", options.churn_fill, "requested share of all cores on average, under churn",
              CLI::Range(0.01, 1.0));
  if (arguments.teaches) {
    add_checked(app, "--knowledge", arguments.cluster_model,
                "oracle: true curves, mean demand and lifetimes; pods: true curves, and demand and lifetimes of "
                "earlier pods of the application",
                CLI::IsMember({"oracle", "pods"}));
  } else {
    app.add_option("--fill", arguments.fill, "requested percent of all cores when the last pod comes")
        ->capture_default_str();
    add_checked(app, "--sizes", arguments.sizes,
                "one-core: all pods request one; openb: requests and lives of a production cluster (openb_pods.csv of "
                "--trace)",
                CLI::IsMember({"one-core", "openb"}));
    app.add_flag("--crowded", options.crowded,
                 "pods use twice as much in bursts, and applications ask for less or more than that");
    add_checked(app, "--knowledge", arguments.cluster_model,
                "production: the knowledge that a controller learns in the run; oracle: it also knows the true "
                "curves, and each pod's mean demand and life",
                CLI::IsMember({"production", "oracle"}));
    add_side_option(app, arguments.side);
  }
  app.add_option("--trace", arguments.trace_dir,
                 "directory with server_power_curves.csv and planetlab_*.csv[.gz]; default: synthetic");
}

void add_side_option(CLI::App& app, std::string& side) {
  add_checked(app, "--side", side, "servers and days: for reporting, or for training and tuning",
              CLI::IsMember({"report", "train"}));
}

consolidation::Side side_of(const std::string& side) {
  return side == "train" ? consolidation::Side::train : consolidation::Side::report;
}

void add_fleet_options(CLI::App& app, std::size_t& seeds, std::uint64_t& first_seed, std::size_t& nodes) {
  seeds = 6;
  first_seed = kFirstHeldOutSeed;
  add_checked(app, "--seeds", seeds, "number of fleets", CLI::Range(1, 1000));
  app.add_option("--first-seed", first_seed, "seed of the first fleet")->capture_default_str();
  add_checked(app, "--nodes", nodes, "of a fleet", CLI::Range(2, 1000));
}

Status apply(ConsolidationArguments& arguments) {
  consolidation::Options& options = arguments.options;
  options.churn = arguments.scenario == kChurn;
  if (arguments.sizes == "openb") options.sizes = consolidation::Sizes::openb;
  double low = 0, high = 0;
  int used = 0;
  if (std::sscanf(arguments.fill.c_str(), "%lf-%lf%n", &low, &high, &used) != 2 ||
      static_cast<std::size_t>(used) != arguments.fill.size() || !(low > 0 && low <= high && high <= 100))
    return fail(Errc::malformed, "--fill " + arguments.fill, "is not LOW-HIGH in percent, for example 60-68");
  options.fill_low = low / 100;
  options.fill_high = high / 100;
  for (const consolidation::ClusterModel each : consolidation::kClusterModels)
    if (arguments.cluster_model == consolidation::to_string(each)) options.cluster_model = each;
  options.side = side_of(arguments.side);
  return {};
}

Result<consolidation::Options> churn_under_controller(ConsolidationArguments& arguments, const std::string& command) {
  WATTLE_CHECK(apply(arguments));
  if (!arguments.options.churn || arguments.options.cluster_model != consolidation::ClusterModel::production)
    return fail(Errc::out_of_range, command, "needs a controller and pods that come and go",
                "use consolidation_churn --knowledge production");
  return arguments.options;
}

Result<consolidation::Dataset> load(const std::string& trace_dir) {
  constexpr double kDemandScale = 3;  // cores of a pod per core of its machine
  if (trace_dir.empty()) return consolidation::synthetic_dataset(kDemandScale);
  return consolidation::load_dataset(trace_dir, kDemandScale);
}

Result<consolidation::Dataset> load(const ConsolidationArguments& arguments) {
  WATTLE_TRY(auto data, load(arguments.trace_dir));
  if (!arguments.trace_dir.empty() && arguments.options.sizes == consolidation::Sizes::openb &&
      data.report_sizes.empty())
    return fail(Errc::not_found, arguments.trace_dir + "/openb_pods.csv", "does not exist, but --sizes openb needs it");
  return data;
}

}  // namespace wattle::sim::commands
