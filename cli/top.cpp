// `wattle top [--watch]`: a status line, the nodes and the busiest pods.
#include <poll.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/dir.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kBusiest = 10;
constexpr int kEvery_ms = 1000;
// Cursor home and erase below, so that nothing flickers.
constexpr std::string_view kHome = "\x1b[H\x1b[J";

std::string status_line(const View& status) {
  return status["mode"].text_or() + " " + status["policy"].text_or() + " | nodes " +
         count(status["nodes_connected"].number()) + "/" + count(status["nodes"].number()) + " | " +
         watts(status["power_w"].number()) + " | workloads " + count(status["workloads"].number()) + " | decisions " +
         count(status["decisions"].number()) + ", " + number(status["decisions_per_s"].number(), 1) + "/s, p50 " +
         microseconds(status["decide_p50_us"].number()) + ", p99 " + microseconds(status["decide_p99_us"].number()) +
         " | step " + count(status["model_step"].number()) + ", loss " + number(status["loss"].number(), 4) +
         ", reward " + number(status["mean_reward"].number(), 3);
}

// SIGINT and SIGTERM as a descriptor; blocked before any thread starts.
Result<Fd> stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) return fail_errno(error, "signals");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "signalfd");
  return fd;
}

// False when a signal came meanwhile.
bool pause_until_next(const Fd& stop) {
  pollfd wait{stop.get(), POLLIN, 0};
  return ::poll(&wait, 1, kEvery_ms) == 0;
}

Result<Json> ask_all(Controller& controller) {
  WATTLE_TRY(Json status, controller.ask("status", {}));
  WATTLE_TRY(Json nodes, controller.ask("nodes", {}));
  WATTLE_TRY(Json pods, controller.ask("pods", {}));
  return Json{{"status", std::move(status)}, {"nodes", nodes["nodes"]}, {"pods", pods["pods"]}};
}

Result<int> watch(const Invocation& invocation, Controller& controller, const Fd& stop) {
  for (;;) {
    const auto document = ask_all(controller);
    if (invocation.around.terminal) invocation.around.out << kHome;
    // A controller that is away for a while is what one watches for.
    if (document) {
      WATTLE_CHECK(print(invocation, *document, render_top));
    } else {
      complain(invocation, document.error(), kProblem);
    }
    if (!pause_until_next(stop)) return document ? kOk : kProblem;
    if (!invocation.around.terminal && invocation.arguments.output != Output::json) invocation.around.out << "\n";
  }
}
}  // namespace

Result<std::string> render_top(const Json& document, const Style& style) {
  const View top(document);
  WATTLE_TRY(const View status, top.object("status"));
  WATTLE_TRY(const std::vector<View> nodes, top.list("nodes"));
  WATTLE_TRY(std::vector<View> pods, top.list("pods"));
  std::string out = printable_lines(status_line(status) + "\n");
  out += "\n" + to_text(nodes_table(nodes, style.wide), style.colour);
  const std::size_t all = pods.size();
  if (all > kBusiest) pods.resize(kBusiest);
  if (all > 0) out += "\n" + to_text(pods_table(pods, energy_sources(document), style.wide), style.colour);
  if (all > kBusiest) out += "and " + std::to_string(all - kBusiest) + " more: wattle pods\n";
  return out;
}

void declare_top(CLI::App& command, Arguments& arguments) {
  command.add_flag("--watch", arguments.watch, "Show it anew each second until Ctrl-C");
}

int run_top(const Invocation& invocation) {
  Fd stop;
  if (invocation.arguments.watch) {
    auto signals = stop_signals();
    if (!signals) return complain(invocation, signals.error(), kProblem);
    stop = std::move(*signals);
  }
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    if (invocation.arguments.watch) return watch(invocation, controller, stop);
    WATTLE_TRY(const Json document, ask_all(controller));
    WATTLE_CHECK(print(invocation, document, render_top));
    return kOk;
  });
}

}  // namespace wattle::cli
