#include "sim/commands/arguments.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "placement/decide/look_ahead.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/typed.hpp"
#include "sim/provision/world.hpp"

namespace wattle::sim::commands {

namespace {

struct WeightName {
  std::string_view name;
  double placement::RewardWeights::*weight;
};
constexpr std::array<WeightName, 7> kWeightNames{{{"energy", &placement::RewardWeights::energy},
                                                  {"latency", &placement::RewardWeights::latency},
                                                  {"balance", &placement::RewardWeights::balance},
                                                  {"active_nodes", &placement::RewardWeights::active_nodes},
                                                  {"packing", &placement::RewardWeights::packing},
                                                  {"contention", &placement::RewardWeights::contention},
                                                  {"failure", &placement::RewardWeights::failure}}};

}  // namespace

Status set_weight(placement::RewardWeights& weights, const std::string& text) {
  const auto equals = text.find('=');
  const auto value =
      equals == std::string::npos ? std::nullopt : parse::real(std::string_view(text).substr(equals + 1));
  if (!value || *value < 0 || *value > 100)
    return fail(Errc::malformed, "weight " + text, "is not NAME=NUMBER with a number of 0 to 100");
  for (const WeightName& each : kWeightNames) {
    if (text.substr(0, equals) != each.name) continue;
    weights.*each.weight = *value;
    return {};
  }
  return fail(Errc::not_found, "weight " + text, "unknown term",
              "use energy, latency, balance, active_nodes, packing, contention or failure");
}

void add_world_options(CLI::App& app, WorldArguments& arguments) {
  app.add_option("--scenario", arguments.scenario, "see wattle-sim scenarios")->capture_default_str();
  app.add_option("--reward", arguments.preset, "preset of the reported rewards")->capture_default_str();
  add_load_option(app, arguments.load);
  app.add_option("--weight", arguments.weights, "weight of the preset weighted as NAME=NUMBER; can be repeated");
  app.add_option("--cluster-seed", arguments.cluster_seed,
                 "use one cluster for all episodes (default: a new cluster for each)");
  app.add_option("--nodes", arguments.nodes, "overrides the scenario")->check(CLI::Range(1, 5000));
  app.add_option("--placements", arguments.placements, "length of an episode; overrides the scenario")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--trace", arguments.trace_dir, "directory with server_power_curves.csv; default: synthetic");
}

void add_look_ahead_option(CLI::App& app, WorldArguments& arguments) {
  add_checked(app, "--look-ahead", arguments.look_ahead,
              "number of next pods known to a decision: waiting pods, then arriving pods",
              CLI::Range(std::size_t{0}, placement::kMaxAhead));
}

void add_load_option(CLI::App& app, std::string& load) {
  add_checked(app, "--load", load, "load measure of the presets ee and lb",
              CLI::IsMember({"pods", "cpu", "memory", "disk"}));
}

Result<EnvOptions> env_options(const WorldArguments& arguments) {
  EnvOptions options;
  WATTLE_TRY(options.scenario, find_scenario(arguments.scenario));
  WATTLE_TRY(options.reward.preset, placement::parse_preset(arguments.preset));
  for (const std::string& weight : arguments.weights) WATTLE_CHECK(set_weight(options.reward.weights, weight));
  WATTLE_TRY(options.reward.load, placement::parse_load_kind(arguments.load));
  options.cluster_seed = arguments.cluster_seed;
  options.look_ahead = arguments.look_ahead;
  if (arguments.nodes > 0) options.scenario.nodes = arguments.nodes;
  if (arguments.placements > 0) options.scenario.placements = arguments.placements;
  if (!arguments.trace_dir.empty()) {
    WATTLE_TRY(options.measured, load_servers(arguments.trace_dir));
  }
  return options;
}

int scenarios(int argc, char** argv) {
  CLI::App app{"Lists the scenarios", "wattle-sim scenarios"};
  if (const auto code = parse(app, argc, argv)) return *code;
  for (const Scenario& scenario : kScenarios)
    std::printf("%-19s %3zu nodes  %s\n", std::string(scenario.name).c_str(), scenario.nodes,
                std::string(scenario.help).c_str());
  std::puts("consolidation_fill   any nodes  for wattle-lab bench, labels and worlds: pods come and stay");
  std::puts("consolidation_churn  any nodes  for the same commands: pods come and go");
  return 0;
}

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
