#include <CLI/CLI.hpp>
#include <cstdio>

#include "lab/commands/commands.hpp"
#include "lab/judges/histories.hpp"
#include "lab/judges/requests.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"

namespace wattle::sim::commands {

namespace {

struct RequestArguments {
  requests::JudgeOptions judge;
  std::string trace_dir, json_file, histories_file;
  double half_life_h = placement::RequestOptions{}.cpu_half_life_s / 3600;
  std::size_t machines = 200;
  std::uint64_t synthetic_seed = 1;
};

constexpr std::size_t kMostHistoryBytes = std::size_t{1} << 30;

Status run_histories(const RequestArguments& arguments) {
  WATTLE_TRY(const std::string text, read_whole(arguments.histories_file, kMostHistoryBytes));
  WATTLE_TRY(const auto histories, requests::parse_histories(text, arguments.histories_file));
  std::vector<requests::HistoryResult> results;
  for (const requests::History& history : histories)
    results.push_back(requests::play_history(arguments.judge.rule, history));
  if (arguments.json_file.empty()) {
    std::fputs(requests::histories_text(results).c_str(), stdout);
    return {};
  }
  return write_whole(arguments.json_file, requests::histories_json(results));
}

Status run_requests(RequestArguments arguments) {
  arguments.judge.rule.cpu_half_life_s = 3600 * arguments.half_life_h;
  if (!arguments.histories_file.empty()) return run_histories(arguments);
  std::vector<consolidation::DemandDay> days;
  if (arguments.trace_dir.empty()) {
    days.push_back(consolidation::synthetic_day(arguments.machines, arguments.synthetic_seed));
  } else {
    WATTLE_TRY(days, consolidation::load_days(arguments.trace_dir));
  }
  std::vector<requests::DayResult> results;
  {
    ProgressBar bar;
    for (const consolidation::DemandDay& day : days) {
      bar.show(static_cast<double>(results.size()) / static_cast<double>(days.size()), day.name);
      results.push_back(requests::judge_day(arguments.judge, day));
    }
    bar.show(1, "");
  }
  std::fputs(requests::results_text(arguments.judge, results).c_str(), stdout);
  if (arguments.json_file.empty()) return {};
  return write_whole(arguments.json_file, requests::results_json(arguments.judge, results));
}

}  // namespace

int requests(int argc, char** argv) {
  RequestArguments arguments;
  CLI::App app{
      "Compare the controller's rule for suggested requests with the Vertical Pod Autoscaler's, on days of CPU "
      "use: cores requested and not used, minutes that used more; everything simulated",
      "wattle-lab requests"};
  app.add_option("--trace", arguments.trace_dir, "directory with planetlab_*.csv[.gz]; default: a synthetic day");
  app.add_option("--histories", arguments.histories_file,
                 "file with histories of CPU or memory, one per line; --json then has one line for each");
  app.add_option("--machines", arguments.machines, "number of machines of the synthetic day")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--synthetic-seed", arguments.synthetic_seed, "seed of the synthetic day")->capture_default_str();
  app.add_option("--cores", arguments.judge.cores, "cores of each machine, its initial request")
      ->check(CLI::Range(0.1, 1024.0))
      ->capture_default_str();
  app.add_option("--share", arguments.judge.rule.cpu_share, "share of the weight that a request covers")
      ->check(CLI::Range(0.1, 1.0))
      ->capture_default_str();
  app.add_option("--half-life", arguments.half_life_h, "half-life of weights in hours")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  app.add_option("--daily-after", arguments.judge.rule.daily_after_days,
                 "number of known days before the time of day counts; 8: never")
      ->check(CLI::Range(0.0, 8.0))
      ->capture_default_str();
  app.add_option("--json", arguments.json_file, "file for all results");
  return run_command(app, argc, argv, [&] { return run_requests(arguments); });
}

}  // namespace wattle::sim::commands
