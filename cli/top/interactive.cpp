#include "cli/top/interactive.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "cli/show.hpp"
#include "cli/top/feeder.hpp"
#include "cli/top/model.hpp"
#include "cli/top/terminal.hpp"

namespace wattle::cli::top {

namespace {
constexpr std::chrono::milliseconds kLookForAnswer{50};

// Returns false if the terminal is gone.
bool wait_for_keys() {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&keys, 1, static_cast<int>(kLookForAnswer.count()));
  return ready <= 0 || (keys.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

bool same(const Size& a, const Size& b) { return a.lines == b.lines && a.columns == b.columns; }
}  // namespace

bool can_interact(const Invocation& invocation) {
  const Output output = invocation.common.output;
  const auto term = invocation.around.variable("TERM");
  return invocation.around.terminal && invocation.around.keyboard && term && !term->empty() && *term != "dumb" &&
         (output == Output::table || output == Output::wide);
}

Result<int> interact(const Invocation& invocation, Controller& controller, const StopKeys& stop) {
  const std::array<std::string, 1> topics{std::string(transport::kTopicState)};
  WATTLE_TRY(auto feed, controller.listen(topics));
  // Requests a first answer before taking the screen, so that a refusal or missing controller is reported as by other
  // commands.
  WATTLE_CHECK(controller.ask("status", {}));
  const SystemClock clock;
  Feeder feeder(controller, feed, clock);
  const Style style = style_of(invocation);
  Model model(style.wide);
  WATTLE_TRY(Terminal terminal, Terminal::open_(style.colour));
  Size drawn{0, 0};
  for (bool draw = true;;) {
    if (auto reported = feeder.take()) {
      model.report(reported->node, std::move(reported->document));
      draw = true;
    }
    const Size size = terminal.size();
    if (draw || !same(size, drawn)) {
      terminal.show(model.picture(size));
      drawn = size;
      draw = false;
    }
    if (stop.pressed() || !wait_for_keys()) return kOk;
    while (const auto pressed = terminal.read()) {
      const Then then = model.press(*pressed);
      if (then == Then::quit) return kOk;
      if (then == Then::ask) feeder.want(model.node());
      draw = true;
    }
  }
}

}  // namespace wattle::cli::top
