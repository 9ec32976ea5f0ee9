#include "cli/power_states.hpp"

#include "cli/human.hpp"

namespace wattle::cli {

Cell power_cell(const View& power) {
  const std::string state = power["state"].text_or();
  return {state, state == "failed"                          ? Tone::bad
                 : state == "blocked" || state == "unknown" ? Tone::warning
                 : state == "asleep"                        ? Tone::faint
                 : state == "awake"                         ? Tone::good
                                                            : Tone::plain};
}

bool may_be_silent(const View& node) {
  const std::string state = node["power"]["state"].text_or();
  return state == "suspending" || state == "asleep" || state == "waking" || state == "probation";
}

std::string asleep_text(const View& status) {
  return status["nodes_asleep"].number().value_or(0) > 0 ? ", " + count(status["nodes_asleep"]) + " asleep"
                                                         : std::string();
}

}  // namespace wattle::cli
