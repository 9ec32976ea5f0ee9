// top: `wattle top [--watch | --once]`: a status line, then nodes and pods, those with the most power first; on a
// terminal an interactive screen (cli/top/).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/screen.hpp"
#include "cli/show.hpp"
#include "cli/top/interactive.hpp"
#include "common/json/value.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kShown = 10;
constexpr std::chrono::milliseconds kEvery{1000};

// Unknown values sort last; equal and unknown ones keep the documents' order.
bool draws_more(const View& a, const View& b) {
  return a["power_w"].number().value_or(-1) > b["power_w"].number().value_or(-1);
}

Result<Json> ask_all(Controller& controller) {
  WATTLE_TRY(Json status, controller.ask("status", {}));
  WATTLE_TRY(Json nodes, controller.ask("nodes", {}));
  WATTLE_TRY(Json pods, controller.ask("pods", {}));
  return Json{{"status", std::move(status)}, {"nodes", nodes["nodes"]}, {"pods", pods["pods"]}};
}

Result<int> watch(const Invocation& invocation, Controller& controller, const StopKeys& stop) {
  for (;;) {
    const auto document = ask_all(controller);
    if (invocation.around.terminal) invocation.around.out << kHome;
    // Continues without a controller, because users watch for it to return.
    if (document) {
      WATTLE_CHECK(print(invocation, *document, render_top));
    } else {
      complain(invocation, document.error(), kProblem);
    }
    if (stop.pressed(kEvery)) return document ? kOk : kProblem;
    if (!invocation.around.terminal && invocation.arguments.output != Output::json) invocation.around.out << "\n";
  }
}
}  // namespace

Result<std::string> render_top(const Json& document, const Style& style) {
  const View top(document);
  WATTLE_TRY(const View status, top.object("status"));
  WATTLE_TRY(std::vector<View> nodes, top.list("nodes"));
  WATTLE_TRY(std::vector<View> pods, top.list("pods"));
  for (std::vector<View>* list : {&nodes, &pods}) std::stable_sort(list->begin(), list->end(), draws_more);
  std::string out = printable_lines(status_line(status) + "\n");
  out += "\n" + (nodes.empty() ? kNoNodes : to_text(nodes_table(nodes, style.wide), style.colour));
  const std::size_t all = pods.size();
  if (all > kShown) pods.resize(kShown);
  if (all > 0) out += "\n" + to_text(pods_table(pods, energy_sources(document), style.wide), style.colour);
  if (all > kShown) out += "and " + std::to_string(all - kShown) + " more (see wattle pods)\n";
  return out;
}

void declare_top(CLI::App& command, Arguments& arguments) {
  auto* watch =
      command.add_flag("--watch", arguments.watch, "Print a new table each second until Ctrl-C, without reading keys");
  command.add_flag("--once", arguments.once, "Print the table once (default without a terminal)")->excludes(watch);
}

int run_top(const Invocation& invocation) {
  std::optional<StopKeys> stop;
  const bool interactive = top::is_interactive(invocation);
  if (invocation.arguments.watch || interactive) {
    auto keys = StopKeys::open_();
    if (!keys) return complain(invocation, keys.error(), kProblem);
    stop = std::move(*keys);
  }
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    if (interactive) return top::interact(invocation, controller, *stop);
    if (invocation.arguments.watch) return watch(invocation, controller, *stop);
    WATTLE_TRY(const Json document, ask_all(controller));
    WATTLE_CHECK(print(invocation, document, render_top));
    return kOk;
  });
}

}  // namespace wattle::cli
