#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "lab/bench/sweep.hpp"
#include "lab/commands/commands.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"

namespace wattle::sim::commands {

namespace {

struct SweepArguments {
  std::string out_file, trace_dir;
  std::size_t servers = 8, levels = 11;
  std::uint64_t seed = 1;
  bool resume = false;
};

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Status run(const SweepArguments& arguments) {
  SweepOptions options;
  options.seed = arguments.seed;
  if (arguments.trace_dir.empty()) {
    options.servers = synthetic_fleet(arguments.servers, arguments.seed);
  } else {
    WATTLE_TRY(options.servers, load_servers(arguments.trace_dir));
    if (options.servers.size() > arguments.servers) options.servers.resize(arguments.servers);
  }
  for (std::size_t i = 0; i < arguments.levels; ++i)
    options.levels.push_back(static_cast<double>(i) / static_cast<double>(arguments.levels - 1));
  std::set<SweepCell> done;
  std::error_code problem;
  if (std::filesystem::exists(arguments.out_file, problem)) {
    if (!arguments.resume)
      return fail(Errc::conflict, arguments.out_file, "already exists", "use --resume to continue it, or another file");
    WATTLE_TRY(const std::string text, read_whole(arguments.out_file, 64 << 20));
    WATTLE_TRY(const Finished finished, finished_cells(text, options));
    done.insert(finished.cells.begin(), finished.cells.end());
    std::filesystem::resize_file(arguments.out_file, finished.bytes, problem);
    if (problem) return fail(Errc::io, arguments.out_file, problem.message());
  }
  const std::unique_ptr<std::FILE, Closer> out(std::fopen(arguments.out_file.c_str(), "a"));
  if (!out) return fail_errno(errno, arguments.out_file);
  const std::vector<SweepCell> cells = sweep_cells(options);
  ProgressBar bar;
  std::size_t made = 0;
  for (const SweepCell& cell : cells) {
    bar.show(static_cast<double>(made++) / static_cast<double>(cells.size()), cell.server);
    if (done.contains(cell)) continue;
    const std::string line = run_cell(options, cell);
    if (std::fwrite(line.data(), 1, line.size(), out.get()) != line.size() || std::fflush(out.get()) != 0)
      return fail_errno(errno, arguments.out_file);
  }
  bar.show(1, "");
  std::printf("%s: %zu cells, %zu of them from before\n", arguments.out_file.c_str(), cells.size(), done.size());
  return {};
}

}  // namespace

int sweep(int argc, char** argv) {
  SweepArguments arguments;
  CLI::App app{
      "Measure throughput, response time and power of each server at each load level, as lines of JSON; can be "
      "interrupted",
      "wattle-lab sweep"};
  app.add_option("--out", arguments.out_file, "file of lines to write")->required();
  app.add_flag("--resume", arguments.resume, "continue the file without simulating its cells again");
  app.add_option("--servers", arguments.servers, "number of server models")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--levels", arguments.levels, "number of load levels, from 0 to all cores")
      ->check(CLI::Range(2, 1001))
      ->capture_default_str();
  app.add_option("--trace", arguments.trace_dir, "directory with server_power_curves.csv; default: synthetic");
  app.add_option("--seed", arguments.seed, "seed of synthetic servers and noise")->capture_default_str();
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
