#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "lab/commands/commands.hpp"
#include "lab/judges/histories.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/options.hpp"

namespace wattle::sim::commands {

namespace {

struct RequestArguments {
  placement::RequestOptions rule;
  std::string json_file, histories_file;
  double half_life_h = placement::RequestOptions{}.cpu_half_life_s / 3600;
};

constexpr std::size_t kMostHistoryBytes = std::size_t{1} << 30;

Status run_requests(RequestArguments arguments) {
  arguments.rule.cpu_half_life_s = 3600 * arguments.half_life_h;
  WATTLE_TRY(const std::string text, read_file(arguments.histories_file, kMostHistoryBytes));
  WATTLE_TRY(const auto histories, requests::parse_histories(text, arguments.histories_file));
  std::vector<requests::HistoryResult> results;
  for (const requests::History& history : histories) results.push_back(requests::play_history(arguments.rule, history));
  if (arguments.json_file.empty()) {
    std::fputs(requests::histories_text(results).c_str(), stdout);
    return {};
  }
  return write_whole(arguments.json_file, requests::histories_json(results));
}

}  // namespace

int requests(int argc, char** argv) {
  RequestArguments arguments;
  CLI::App app{
      "Play the controller's rule for suggested requests, and for CPU the Vertical Pod Autoscaler's, on histories of "
      "use: what is requested and not used, minutes that used more, kills; everything simulated",
      "wattle-lab requests"};
  app.add_option("--histories", arguments.histories_file, "file with histories of CPU or memory, one per line")
      ->required();
  add_checked(app, "--share", arguments.rule.cpu_share, "share of the weight that a request covers",
              CLI::Range(0.1, 1.0));
  add_checked(app, "--half-life", arguments.half_life_h, "half-life of weights in hours", CLI::Range(0.1, 1000.0));
  add_checked(app, "--daily-after", arguments.rule.daily_after_days,
              "number of known days before the time of day counts; 8: never", CLI::Range(0.0, 8.0));
  app.add_option("--json", arguments.json_file, "file for the results, one line for each history");
  return run_command(app, argc, argv, [&] { return run_requests(arguments); });
}

}  // namespace wattle::sim::commands
