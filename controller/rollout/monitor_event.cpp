#include "controller/rollout/monitor_event.hpp"

#include <algorithm>
#include <cassert>

namespace wattle::controller {
namespace {

constexpr std::array<std::string_view, 6> kMonitorNames{"output_check", "regression",   "waiting",
                                                        "late",         "network_gate", "learned_gate"};
constexpr std::array<std::string_view, 5> kVerdictNames{"nonsense", "worse", "over_budget", "behind", "ahead"};
constexpr std::array<std::string_view, 4> kActionNames{"continue", "use the planner", "shadow", "restore the model"};

}  // namespace

std::string_view to_string(Monitor monitor) { return kMonitorNames[static_cast<std::size_t>(monitor)]; }
std::string_view to_string(Verdict verdict) { return kVerdictNames[static_cast<std::size_t>(verdict)]; }
std::string_view to_string(Action action) { return kActionNames[static_cast<std::size_t>(action)]; }

const Guardrail& guardrail_of(const MonitorEvent& event) {
  const auto found = std::find_if(kGuardrails.begin(), kGuardrails.end(), [&](const Guardrail& each) {
    return each.monitor == event.monitor && each.verdict == event.verdict;
  });
  assert(found != kGuardrails.end());
  return *found;
}

}  // namespace wattle::controller
