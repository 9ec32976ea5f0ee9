#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/profile/bench_run.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::size_t kMostProfileBytes = 64 << 20;

struct ProfileArguments {
  profile::BenchOptions bench;
  std::string out_file, measure = "30s", settle = "5s";
  std::vector<double> quotas_cores, rates_rps;
  bool resume = false;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Searches beside this program first, for wattle-load and wattle-agent of the same version.
std::string program_folders() {
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", none).parent_path().string();
  const char* path = std::getenv("PATH");
  return own + ":" + (path != nullptr ? path : "/usr/bin:/bin");
}

Result<Duration> span_of(const std::string& option, const std::string& text, double least_s) {
  const auto span_s = parse::duration_s(text);
  if (!span_s || *span_s < least_s || *span_s > 3600)
    return fail(Errc::malformed, option + " " + text, "is not a duration up to 1h", "for example 10s");
  return from_seconds(*span_s);
}

Status run(ProfileArguments arguments) {
  profile::BenchOptions& bench = arguments.bench;
  WATTLE_TRY(bench.measure, span_of("--for", arguments.measure, 0.1));
  WATTLE_TRY(bench.settle, span_of("--settle", arguments.settle, 0));
  if (bench.group.empty() || bench.group.find_first_of("/ \n") != std::string::npos || bench.group.starts_with('.'))
    return fail(Errc::malformed, "--group " + bench.group, "is not the name of a cgroup", "for example wattle-profile");
  bench.programs = program_folders();
  const std::string service = CLI::detail::join(bench.service, " ");
  const auto cells = profile::cells_of(arguments.quotas_cores, arguments.rates_rps);
  std::set<profile::Cell> done;
  std::error_code problem;
  if (std::filesystem::exists(arguments.out_file, problem)) {
    if (!arguments.resume)
      return fail(Errc::conflict, arguments.out_file, "already exists", "use --resume to continue it, or another file");
    WATTLE_TRY(const std::string text, read_file(arguments.out_file, kMostProfileBytes));
    WATTLE_TRY(const auto from_before, profile::done_cells(text, cells, service));
    done.insert(from_before.cells.begin(), from_before.cells.end());
    std::filesystem::resize_file(arguments.out_file, from_before.bytes, problem);
    if (problem) return fail(Errc::io, arguments.out_file, problem.message());
  }
  if (done.size() < cells.size()) {
    const std::unique_ptr<std::FILE, FileCloser> out(std::fopen(arguments.out_file.c_str(), "a"));
    if (!out) return fail_errno(errno, arguments.out_file);
    WATTLE_TRY(profile::BenchRun running, profile::BenchRun::start(bench));
    ProgressBar bar;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const profile::Cell& cell = cells[i];
      bar.show(static_cast<double>(i) / static_cast<double>(cells.size()),
               std::to_string(cell.quota_cores) + " cores, " + std::to_string(cell.rate_rps) + "/s");
      if (done.contains(cell)) continue;
      WATTLE_TRY(const auto measured, running.measure(cell));
      const std::string line = profile::line_of(cell, measured, service);
      if (std::fwrite(line.data(), 1, line.size(), out.get()) != line.size() || std::fflush(out.get()) != 0 ||
          ::fsync(::fileno(out.get())) != 0)
        return fail_errno(errno, arguments.out_file);
    }
    bar.show(1, "");
  }
  std::printf("%s: %zu cells, %zu of them from before\n", arguments.out_file.c_str(), cells.size(), done.size());
  return {};
}

}  // namespace

int profile(int argc, char** argv) {
  ProfileArguments arguments;
  CLI::App app{
      "Measure throughput, latency and power of a service on this machine at each request rate and CPU quota, as "
      "lines of JSON; needs root, wattle-load and, for power, wattle-agent; can be interrupted",
      "wattle-sim profile"};
  app.add_option("--out", arguments.out_file, "file of lines to write")->required();
  app.add_flag("--resume", arguments.resume, "continue the file without measuring its cells again");
  app.add_option("--quotas", arguments.quotas_cores, "list of cores, separated by commas")
      ->delimiter(',')
      ->required()
      ->check(CLI::Range(0.01, 1024.0));
  app.add_option("--rates", arguments.rates_rps, "list of requests per second, separated by commas")
      ->delimiter(',')
      ->required()
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--url", arguments.bench.url, "address to request, http://HOST:PORT/PATH")->required();
  app.add_option("--for", arguments.measure, "duration of the measurement of a cell")->capture_default_str();
  app.add_option("--settle", arguments.settle, "duration of its load before the measurement")->capture_default_str();
  app.add_option("--group", arguments.bench.group, "name of the cgroup to create for the service")
      ->capture_default_str();
  app.add_option("SERVICE", arguments.bench.service, "after --: the service to start, with its arguments")->required();
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
