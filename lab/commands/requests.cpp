#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/dir.hpp"
#include "lab/commands/commands.hpp"
#include "lab/judges/histories.hpp"
#include "sim/commands/typed.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::size_t kMostHistoryBytes = std::size_t{1} << 30;

Status run_requests(const std::string& file) {
  WATTLE_TRY(const std::string text, read_file(file, kMostHistoryBytes));
  WATTLE_TRY(const auto histories, requests::parse_histories(text, file));
  std::vector<requests::HistoryResult> results;
  for (const requests::History& history : histories) results.push_back(requests::play_history(history));
  std::fputs(requests::histories_json(results).c_str(), stdout);
  return {};
}

}  // namespace

int requests(int argc, char** argv) {
  std::string file;
  CLI::App app{
      "Play the controller's rule for suggested requests on histories of use, a line of JSON each: what is requested "
      "and not used, minutes that used more, kills; everything simulated",
      "wattle-lab requests"};
  app.add_option("--histories", file, "file with histories of CPU or memory, one per line")->required();
  return run_command(app, argc, argv, [&] { return run_requests(file); });
}

}  // namespace wattle::sim::commands
