#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/stop_signal.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/typed.hpp"
#include "sim/live/drive.hpp"
#include "sim/live/drive_report.hpp"

namespace wattle::sim::commands {

using namespace live;

namespace {

constexpr double kShowEvery_s = 1;
constexpr double kLineEvery_s = 5;
constexpr double kBeginWithin_s = 30;
constexpr const char* kHomeAndClear = "\x1b[H\x1b[J";
constexpr const char* kClearBelow = "\x1b[J";

struct Show {
  bool table = false;
  bool json = false;
};

Result<CgroupPods> open_pods(std::string cgroup_root) {
  if (cgroup_root.empty()) {
    WATTLE_TRY(auto proc, Dir::open_("/proc/self"));
    WATTLE_TRY(const std::string mounts, proc.read_file("mounts"));
    WATTLE_TRY(cgroup_root, find_cgroup2_mount(mounts));
  }
  CgroupPodsOptions options;
  options.cgroup_root = std::move(cgroup_root);
  return CgroupPods::open_(options);
}

Status begin_patiently(Driver& driver, StopSignal& stop, const Clock& clock) {
  const MonoTime until = clock.mono() + from_seconds(kBeginWithin_s);
  while (true) {
    Status begun = driver.begin();
    if (begun || clock.mono() >= until) return begun;
    if (stop.wait(std::chrono::milliseconds(250)))
      return fail(Errc::unavailable, "drive", "was stopped before it started");
  }
}

// Redraws a table in place. Text above it stays, unless the screen is too small.
class Screen {
 public:
  void draw(const std::string& table) {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    if (lines_ > 0 && known && lines_ < size.ws_row)
      std::printf("\x1b[%zdA\r%s%s", lines_, kClearBelow, table.c_str());
    else
      std::printf("%s%s", lines_ > 0 ? kHomeAndClear : "\n", table.c_str());
    lines_ = std::count(table.begin(), table.end(), '\n');
  }

 private:
  std::ptrdiff_t lines_ = 0;  // number of lines of the previous table
};

void show(const Driver& driver, const Show& how, Screen& screen) {
  if (how.table)
    screen.draw(live_table(driver));
  else
    std::fprintf(how.json ? stderr : stdout, "%s\n", live_line(driver).c_str());
  std::fflush(stdout);
}

int run(Driver& driver, StopSignal& stop, const Clock& clock, const Show& how) {
  if (const Status begun = begin_patiently(driver, stop, clock); !begun) return failed("drive", begun.error());
  MonoTime next_show = clock.mono();
  Screen screen;
  while (!driver.over() && !stop.pending()) {
    MonoTime wake = driver.step();
    if (clock.mono() >= next_show) {
      show(driver, how, screen);
      next_show = clock.mono() + from_seconds(how.table ? kShowEvery_s : kLineEvery_s);
    }
    wake = std::min(wake, next_show);
    if (stop.wait(wake - clock.mono())) break;
  }
  driver.finish();
  if (how.table) {
    screen.draw(live_table(driver));
    std::printf("\n");
  }
  std::printf("%s\n", how.json ? summary_json(driver).c_str() : summary_text(driver).c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace

int drive(int argc, char** argv) {
  CLI::App app(
      "Simulates a kube-scheduler through the extender protocol with a window of pods: deletes the oldest, creates "
      "one, "
      "and repeats",
      "wattle-sim drive");
  DriveOptions options;
  options.shim = {"127.0.0.1", 8888};
  options.swarm = {"127.0.0.1", 8060};
  options.controller = {"127.0.0.1", 8050};
  std::string cgroup_root, output = "table", summary_file;
  bool sweep = false;
  Placer::Addresses twin;
  const auto add_address = [&](const char* name, HttpAddress& address, const char* help) {
    const auto read = [name, &address](const std::string& text) {
      auto parsed = parse_http_address(text);
      if (!parsed) throw CLI::ValidationError(name, parsed.error().message());
      address = std::move(*parsed);
    };
    app.add_option_function<std::string>(name, read, help);
  };
  add_address("--shim", options.shim, "URL of the extender");
  add_address("--swarm", options.swarm, "address of `wattle-sim swarm`");
  add_address("--controller", options.controller, "the controller's HTTP port, to show its figures");
  add_address("--twin-shim", twin.shim, "extender of a twin, which places the same pods");
  add_address("--twin-swarm", twin.swarm, "simulated nodes of the twin, with the same seed");
  add_address("--twin-controller", twin.controller, "the HTTP port of the twin's controller");
  app.add_option("--seconds", options.run_s, "duration")->check(CLI::Range(1.0, 1e7));
  app.add_option("--pods", options.pods, "window of pods")->check(CLI::Range(1, 10'000));
  app.add_option("--period", options.period_s, "seconds between two replacements")->check(CLI::Range(0.001, 3600.0));
  app.add_option("--seed", options.seed, "seed of pods and ties");
  app.add_option("--weight", options.weight, "the extender's weight in the scheduler's profile")
      ->check(CLI::Range(0, 100));
  app.add_option("--real-node", options.real_node,
                 "node name of this machine, which runs pods as cgroups with real load");
  app.add_option("--cgroup-root", cgroup_root, "mount point of cgroup2 (default: detected)");
  app.add_option("-o,--output", output, "output format: table, line or json")
      ->check(CLI::IsMember({"table", "line", "json"}));
  app.add_option("--summary-file", summary_file, "also write the summary as JSON to this file");
  app.add_flag("--sweep", sweep, "remove pods of killed drivers from this machine, and exit");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (twin.shim.port != 0 || twin.swarm.port != 0 || twin.controller.port != 0) {
    if (twin.shim.port == 0 || twin.swarm.port == 0 || twin.controller.port == 0) {
      std::fprintf(
          stderr,
          "wattle-sim: drive: --twin-shim, --twin-swarm and --twin-controller need each other: pass all three\n");
      return 2;
    }
    options.twin = std::move(twin);
  }
  const Log log("wattle-sim drive", LogLevel::info, LogFormat::automatic);
  std::optional<CgroupPods> real;
  if (sweep || !options.real_node.empty()) {
    auto opened = open_pods(cgroup_root);
    if (!opened) return failed("drive", opened.error());
    const std::size_t swept = opened->sweep();
    if (swept > 0) log.warn("drive.pods_removed", "pods of a previous, killed driver were removed", {{"pods", swept}});
    if (sweep) return 0;
    real.emplace(std::move(*opened));
  }
  auto stop = StopSignal::open_();
  if (!stop) return failed("drive", stop.error());
  const SystemClock clock;
  Driver driver(options, std::move(real), clock, log);
  const Show how{output == "table" && isatty(STDOUT_FILENO) == 1, output == "json"};
  const int code = run(driver, *stop, clock, how);
  if (code == 0 && !summary_file.empty())
    if (const Status written = write_file_atomically(summary_file, summary_json(driver) + "\n"); !written)
      return failed("drive", written.error());
  return code;
}

}  // namespace wattle::sim::commands
