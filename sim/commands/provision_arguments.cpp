#include "sim/commands/provision_arguments.hpp"

#include <CLI/CLI.hpp>

#include "common/dir.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/options.hpp"
#include "sim/provision/rates.hpp"

namespace wattle::sim::commands {

void add_provision_options(CLI::App& app, ProvisionWorldArguments& arguments) {
  app.add_option("--trace", arguments.trace_files,
                 "file with the number of requests of one second per line; can be repeated (default: synthetic)");
  add_checked(app, "--scale", arguments.scale, "factor of the rates", CLI::Range(0.001, 1000.0));
  add_checked(app, "--minutes", arguments.minutes, "length of each trace", CLI::Range(5, 10'080));
  app.add_option("--synthetic-seed", arguments.synthetic_seed, "seed of the synthetic traces")->capture_default_str();
  add_checked(app, "--services", arguments.services, "number of services that each request passes in sequence",
              CLI::Range(1, static_cast<int>(provision::kMostServices)));
  add_checked(app, "--target", arguments.target_ms, "target of the 99th percentile in ms", CLI::Range(1.0, 60'000.0));
  add_checked(app, "--work", arguments.work_ms, "mean CPU time of a request in each service in ms",
              CLI::Range(0.01, 1000.0));
}

Result<std::vector<RateTrace>> provision_traces(const ProvisionWorldArguments& arguments) {
  std::vector<RateTrace> traces;
  for (const std::string& file : arguments.trace_files) {
    WATTLE_TRY(const std::string text, read_file(file, kMostTraceBytes));
    WATTLE_TRY(RateTrace trace, parse_rates(text, file));
    traces.push_back(std::move(trace));
  }
  if (traces.empty()) traces = provision::synthetic_rates(arguments.synthetic_seed, 60 * arguments.minutes);
  for (RateTrace& trace : traces) {
    if (trace.rates_rps.size() > 60 * arguments.minutes) trace.rates_rps.resize(60 * arguments.minutes);
    scale(trace, arguments.scale);
  }
  return traces;
}

provision::WorldOptions provision_world(const ProvisionWorldArguments& arguments) {
  provision::WorldOptions world;
  world.services = arguments.services;
  world.target_s = arguments.target_ms / 1000;
  world.work_s = arguments.work_ms / 1000;
  return world;
}

}  // namespace wattle::sim::commands
