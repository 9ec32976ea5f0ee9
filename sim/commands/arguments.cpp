#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "common/parse.hpp"
#include "placement/decide/look_ahead.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/env_commands.hpp"
#include "sim/commands/options.hpp"

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

void add_scheduler_options(CLI::App& app, SchedulerOptions& options) {
  add_checked(app, "--extender-weight", options.extender_weight, "weight of the extender's scores in kube-scheduler",
              CLI::Range(1, 100));
  app.add_flag("--topology-spread", options.topology_spread,
               "add kube-scheduler's PodTopologySpread scores with its defaults, which can outweigh the advice");
}

Result<EnvOptions> env_options(const WorldArguments& arguments) {
  EnvOptions options;
  WATTLE_TRY(options.scenario, find_scenario(arguments.scenario));
  WATTLE_TRY(options.reward.preset, placement::parse_preset(arguments.preset));
  for (const std::string& weight : arguments.weights) WATTLE_CHECK(set_weight(options.reward.weights, weight));
  WATTLE_TRY(options.reward.load, placement::parse_load_kind(arguments.load));
  options.cluster_seed = arguments.cluster_seed;
  options.look_ahead = arguments.look_ahead;
  options.scheduler = arguments.scheduler;
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

}  // namespace wattle::sim::commands
