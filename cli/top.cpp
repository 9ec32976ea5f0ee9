// top: `wattle top`: a status line, then nodes and pods, those with the most power first; on a terminal an interactive
// screen (cli/top/).
#include <algorithm>
#include <ostream>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/screen.hpp"
#include "cli/show.hpp"
#include "cli/top/interactive.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kShown = 10;

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
  if (all > 0) out += "\n" + to_text(pods_table(pods, style.wide), style.colour);
  if (all > kShown) out += "and " + std::to_string(all - kShown) + " more (see wattle pods)\n";
  return out;
}

namespace {
Outcome run_top(const Invocation& invocation) {
  std::optional<StopKeys> stop;
  if (top::can_interact(invocation)) {
    WATTLE_TRY(stop, StopKeys::open_());
  }
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    if (stop) return top::interact(invocation, controller, *stop);
    WATTLE_TRY(const Json document, ask_all(controller));
    WATTLE_CHECK(print(invocation, document, render_top));
    return kOk;
  });
}
}  // namespace

void declare_top(CLI::App& command, Run& chosen) { runs(command, chosen, run_top); }

}  // namespace wattle::cli
