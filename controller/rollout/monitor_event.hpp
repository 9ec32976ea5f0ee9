// monitor_event: the findings of monitors, and the actions that follow, in one table. docs/reference/rollout.md has
// the same table, and a test compares them.
// Actions  proceed: only an audit entry; use_planner: the planner serves instead of the network; shadow: decisions stop
//          acting, and the current ask gets a neutral answer; restore_model: the network of the last promotion serves
//          again
// Errors   none: a pair that is missing from the table is a bug
// Threads  values
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace wattle::controller {

enum class Monitor { output_check, regression, waiting, late, network_gate, learned_gate };
enum class Verdict { nonsense, worse, over_budget, behind, ahead };
enum class Action { proceed, use_planner, shadow, restore_model };

std::string_view to_string(Monitor monitor);
std::string_view to_string(Verdict verdict);
std::string_view to_string(Action action);

struct MonitorEvent {
  Monitor monitor = Monitor::output_check;
  Verdict verdict = Verdict::nonsense;
  std::string evidence;
};

struct Guardrail {
  Monitor monitor;
  Verdict verdict;
  std::array<Action, 2> actions;  // in this order, padded with `proceed`
  std::string_view who, what;     // texts for the audit; a change of mode has its own text
};

inline constexpr std::array<Guardrail, 8> kGuardrails{{
    {Monitor::output_check, Verdict::nonsense, {Action::shadow, Action::restore_model}, "guard", ""},
    {Monitor::regression, Verdict::worse, {Action::shadow, Action::restore_model}, "guard", ""},
    {Monitor::waiting, Verdict::over_budget, {Action::shadow, Action::restore_model}, "guard", ""},
    {Monitor::late, Verdict::over_budget, {Action::shadow, Action::restore_model}, "guard", ""},
    {Monitor::network_gate,
     Verdict::behind,
     {Action::use_planner, Action::proceed},
     "guard",
     "the network is withdrawn; the planner is in use"},
    {Monitor::network_gate, Verdict::ahead, {Action::proceed, Action::proceed}, "guard", "the network is in use"},
    {Monitor::learned_gate,
     Verdict::behind,
     {Action::proceed, Action::proceed},
     "guard",
     "the network learned on this cluster is withdrawn; the initial network is in use"},
    {Monitor::learned_gate,
     Verdict::ahead,
     {Action::proceed, Action::proceed},
     "guard",
     "the network learned on this cluster is in use"},
}};

const Guardrail& guardrail_of(const MonitorEvent& event);

}  // namespace wattle::controller
