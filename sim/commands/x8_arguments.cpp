#include "sim/commands/x8_arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace wattle::sim::commands {

void add_x8_options(CLI::App& app, X8Arguments& arguments) {
  x8::Options& options = arguments.options;
  app.add_option("scenario", arguments.scenario, "x8: heterogeneous servers, real or synthetic demand")
      ->required()
      ->check(CLI::IsMember({"x8"}));
  app.add_flag("--sleep", options.sleep, "idle nodes sleep");
  app.add_flag("--churn", options.churn, "pods come and go; default: they come and stay");
  app.add_option("--fill", arguments.fill, "requested percent of all cores when the last pod comes")
      ->capture_default_str();
  app.add_option("--life", options.life_s, "seconds, mean; under churn")
      ->check(CLI::Range(60.0, 1e6))
      ->capture_default_str();
  app.add_option("--churn-fill", options.churn_fill, "requested share of all cores on average, under churn")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  app.add_option("--knowledge", arguments.knowledge,
                 "oracle: real curves and mean demand; production: what a controller learns; pods: real curves, demand "
                 "and lives learned")
      ->check(CLI::IsMember({"oracle", "production", "pods", "true"}))  // true: the former name of oracle
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
}

Status apply(X8Arguments& arguments) {
  x8::Options& options = arguments.options;
  double low = 0, high = 0;
  int used = 0;
  if (std::sscanf(arguments.fill.c_str(), "%lf-%lf%n", &low, &high, &used) != 2 ||
      static_cast<std::size_t>(used) != arguments.fill.size() || !(low > 0 && low <= high && high <= 100))
    return fail(Errc::malformed, "--fill " + arguments.fill, "is not LOW-HIGH in percent, e.g. 60-68");
  options.fill_low = low / 100;
  options.fill_high = high / 100;
  for (const auto each : {x8::ClusterModel::truth, x8::ClusterModel::production, x8::ClusterModel::pods})
    if (arguments.knowledge == x8::to_string(each)) options.knowledge = each;
  if (arguments.knowledge == "true") options.knowledge = x8::ClusterModel::truth;
  return {};
}

Result<x8::Dataset> load(const X8Arguments& arguments) {
  if (arguments.trace_dir.empty()) return x8::synthetic_dataset(arguments.demand_scale);
  return x8::load_dataset(arguments.trace_dir, arguments.demand_scale);
}

}  // namespace wattle::sim::commands
