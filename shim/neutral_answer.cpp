#include "shim/neutral_answer.hpp"

#include <vector>

#include "shim/extender.hpp"
#include "shim/preemption.hpp"

namespace wattle::shim {

std::optional<std::string> neutral_answer(std::string_view path, std::string_view body) {
  if (path == "/prioritize") return "[]";
  if (path == "/filter") {
    const std::vector<std::string> names = names_of(body);
    if (!names.empty()) return format_filter(names, {});
    const auto whole = raw_member(body, "Nodes");
    return whole ? std::optional(format_filter_nodes(*whole)) : std::nullopt;
  }
  if (path != "/preempt") return std::nullopt;
  const auto preemption = parse_preemption_args(body);
  return preemption ? std::optional(format_preemption(*preemption, preemption->nodes)) : std::nullopt;
}

}  // namespace wattle::shim
