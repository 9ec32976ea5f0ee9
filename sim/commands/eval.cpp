#include <CLI/CLI.hpp>
#include <cstdio>

#include "models/frozen/layout.hpp"
#include "placement/learn/tabular.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim::commands {

namespace {

struct EvalArguments {
  WorldArguments world;
  std::string model_file;
  std::size_t seeds = 10;
  bool warm = false;
  double waiting_times = 1;
  std::optional<double> late;
  std::vector<std::string> policies{"node-order", "planner", "kube-default", "model-greedy", "amortised"};
  std::string output = "table";
};

Status run(const EvalArguments& arguments) {
  WATTLE_TRY(EnvOptions options, env_options(arguments.world));
  options.waiting_times = arguments.waiting_times;
  options.limits.late = arguments.late;
  std::vector<Contestant> contestants;
  std::shared_ptr<const models::QNetwork> trained;
  std::string policy = "dqn";
  if (!arguments.model_file.empty()) {
    WATTLE_TRY(trained, read_learned(arguments.model_file));
    policy = placement::policy_of(*trained);
    contestants.push_back({"trained", Binding::advised, policy, trained.get()});
  }
  // Both output layers of a network start at 0, so that any seed's initial weights decide by the prior alone. A new
  // table is 0.
  const models::Weights untaught =
      policy == "tabular-q" ? placement::make_tabular_trainer()->weights() : models::initial_weights(1);
  WATTLE_TRY(const auto initial, placement::network_of(untaught, 0, "initial weights"));
  contestants.push_back({"initial", Binding::advised, policy, initial.get()});
  for (const std::string& name : arguments.policies) {
    WATTLE_TRY(Contestant contestant, contestant_named(name));
    contestants.push_back(std::move(contestant));
  }
  WATTLE_TRY(const Evaluation evaluation,
             evaluate(options, contestants, seeds_from(kFirstHeldOutSeed, arguments.seeds), arguments.warm));
  const std::string text = arguments.output == "json" ? to_json(evaluation) : to_table(evaluation);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

}  // namespace

int eval(int argc, char** argv) {
  EvalArguments arguments;
  CLI::App app{"Compare a trained network, its initial weights and fixed rules in greedy episodes on held-out seeds",
               "wattle-sim eval"};
  app.add_option("--model", arguments.model_file,
                 "safetensors file of a network or a table; without it, only the rules are evaluated");
  add_world_options(app, arguments.world);
  add_look_ahead_option(app, arguments.world);
  add_checked(app, "--seeds", arguments.seeds, "number of episodes for each", CLI::Range(1, 1000));
  app.add_flag("--warm", arguments.warm,
               "the controller first observes each cluster in mode shadow for one episode with other pods");
  add_checked(
      app, "--odd-waiting", arguments.waiting_times,
      "factor by which pods wait longer for CPU than in the scenario and during observation, unknown to policies",
      CLI::Range(0.1, 20.0));
  app.add_option("--late", arguments.late, "share of time that pods may exceed their soft latency limit; 1: no limit")
      ->check(CLI::Range(0.0001, 1.0));
  app.add_option("--policies", arguments.policies, "policies to compare with (docs/reference/policies.md)")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("-o,--output", arguments.output, "output format: table or json")
      ->check(CLI::IsMember({"table", "json"}));
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
