#include <CLI/CLI.hpp>
#include <cstdio>

#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/provision/judge.hpp"

namespace wattle::sim::commands {

namespace {

struct ProvisionArguments {
  std::vector<std::string> trace_files, contestants;
  std::string json_file;
  double scale = 1, target_ms = 100, work_ms = 4, over_percent = 5;
  std::size_t seeds = 3, services = 1, minutes = 60;
  std::uint64_t first_seed = 2'000'000, synthetic_seed = 1;
};

Result<std::vector<RateTrace>> traces_of(const ProvisionArguments& arguments) {
  std::vector<RateTrace> traces;
  for (const std::string& file : arguments.trace_files) {
    WATTLE_TRY(const std::string text, read_whole(file, kMostTraceBytes));
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

Status run_provision(const ProvisionArguments& arguments) {
  provision::JudgeOptions options;
  WATTLE_TRY(options.traces, traces_of(arguments));
  options.contestants = arguments.contestants;
  options.world.services = arguments.services;
  options.world.target_s = arguments.target_ms / 1000;
  options.world.work_s = arguments.work_ms / 1000;
  options.seeds = arguments.seeds;
  options.first_seed = arguments.first_seed;
  options.minutes_over_ratio = arguments.over_percent / 100;
  provision::Judgement judgement;
  {
    ProgressBar bar;
    WATTLE_TRY(judgement,
               provision::judge(options, [&](double done, const std::string& next) { bar.show(done, next); }));
  }
  std::fputs(provision::judgement_text(options, judgement).c_str(), stdout);
  if (arguments.json_file.empty()) return {};
  return write_whole(arguments.json_file, provision::judgement_json(options, judgement));
}

}  // namespace

int provision(int argc, char** argv) {
  ProvisionArguments arguments;
  CLI::App app{
      "Judge rules that set CPU limits: cores granted to a service under a rate trace, while at most a share of "
      "minutes "
      "has its 99th percentile over the target; everything simulated",
      "wattle-sim provision"};
  app.add_option("--trace", arguments.trace_files,
                 "file with the requests of one second a line; may be repeated; default: synthetic");
  app.add_option("--scale", arguments.scale, "times the rates")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  app.add_option("--minutes", arguments.minutes, "of each trace")->check(CLI::Range(5, 10'080))->capture_default_str();
  app.add_option("--synthetic-seed", arguments.synthetic_seed, "of the synthetic traces")->capture_default_str();
  app.add_option("--contestants", arguments.contestants, "which; default: all")->delimiter(',');
  app.add_option("--services", arguments.services, "that each request passes one after the other")
      ->check(CLI::Range(1, static_cast<int>(provision::kMostServices)))
      ->capture_default_str();
  app.add_option("--target", arguments.target_ms, "of the 99th percentile, ms")
      ->check(CLI::Range(1.0, 60'000.0))
      ->capture_default_str();
  app.add_option("--work", arguments.work_ms, "mean CPU time of a request in each service, ms")
      ->check(CLI::Range(0.01, 1000.0))
      ->capture_default_str();
  app.add_option("--over", arguments.over_percent, "of minutes that may be over the target, percent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "how many")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--first-seed", arguments.first_seed, "the first of them")->capture_default_str();
  app.add_option("--json", arguments.json_file, "file for all settings and seeds");
  return run_command(app, argc, argv, [&] { return run_provision(arguments); });
}

}  // namespace wattle::sim::commands
