#include "controller/web/sleep_states.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "controller/config.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/state/cluster_state.hpp"
#include "placement/sleep/transition_cost.hpp"

namespace wattle::controller {

using json = SortedJson;
namespace core = placement::sleep;

namespace {

constexpr std::size_t kNamedNodes = 5;

double unix_s(WallTime at) { return static_cast<double>(to_ns(at)) / 1e9; }
json unix_or_null(const std::optional<WallTime>& at) { return at ? json(unix_s(*at)) : json(nullptr); }
std::string text_of(core::PowerState state) { return std::string(to_string(state)); }

core::PowerState shown_state(const power::SleepControl& sleep, const core::NodePowerRecord& record) {
  return record.state == core::PowerState::blocked && sleep.exclusions().contains(record.node) ? core::PowerState::awake
                                                                                               : record.state;
}

// Pods for which the last plan wakes a node that still sleeps.
std::set<std::string> waiting_pods(const power::SleepControl& sleep) {
  std::set<std::string> pods;
  if (!sleep.plan()) return pods;
  for (const core::WakeChoice& wake : sleep.plan()->plan.wakes) {
    const auto state = power_state_of(sleep, wake.node);
    if (state == core::PowerState::asleep || state == core::PowerState::suspending)
      pods.insert(wake.pods.begin(), wake.pods.end());
  }
  return pods;
}

// "worker-1: it does not wake", or a count with names.
std::string nodes_words(const std::vector<const core::NodePowerRecord*>& nodes, const char* what) {
  if (nodes.size() == 1) return "node " + nodes.front()->node + " " + what + ": " + nodes.front()->reason;
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamedNodes); ++i) names += (i > 0 ? ", " : "") + nodes[i]->node;
  return std::to_string(nodes.size()) + " nodes " + what + ": " + names + (nodes.size() > kNamedNodes ? ", ..." : "");
}

}  // namespace

std::optional<core::PowerState> power_state_of(const power::SleepControl& sleep, const std::string& node) {
  const auto found = sleep.records().find(node);
  return found == sleep.records().end() ? std::nullopt : std::optional(shown_state(sleep, found->second));
}

bool may_be_silent(const power::SleepControl& sleep, const std::string& node) {
  const auto state = power_state_of(sleep, node);
  return state == core::PowerState::suspending || state == core::PowerState::asleep ||
         state == core::PowerState::waking || state == core::PowerState::probation;
}

json power_json(const power::SleepControl& sleep, const std::string& node) {
  const auto found = sleep.records().find(node);
  if (found == sleep.records().end()) return nullptr;
  const core::NodePowerRecord& record = found->second;
  return {{"state", text_of(shown_state(sleep, record))},
          {"since_wall_s", unix_s(record.since)},
          {"reason", record.reason.empty() ? json(nullptr) : json(record.reason)}};
}

json power_record_json(const Parts& from, const core::NodePowerRecord& record) {
  json node = power_json(from.sleep, record.node);
  const core::SleepRules& rules = from.sleep.settings().plan.rules;
  const Node* const seen = from.state.node(record.node);
  const double idle_w = seen != nullptr ? from.state.view_of(*seen).curve.idle_w() : 0;
  const core::TransitionCost cost = core::cost_of(record, record.depth, idle_w);
  node.update({{"name", record.node},
               {"operation", record.operation},
               {"depth", std::string(to_string(record.depth))},
               {"presumed", record.presumed},
               {"last_slept_wall_s", unix_or_null(record.last_slept)},
               {"last_woken_wall_s", unix_or_null(record.last_woken)},
               {"round_trips", record.round_trips},
               {"round_trips_needed", rules.proven_round_trips},
               {"cycles_today", cycles_on_day(record, from.clock.wall())},
               {"cycles_per_day", rules.cycles_per_day},
               {"transitions_j", cost.sleep_j + cost.wake_j},
               {"transitions_measured", core::joules_measured(record)}});
  return node;
}

json sleep_totals_json(const Parts& from) {
  const power::SleepTotals totals = from.sleep.totals();
  json failures = json::array();
  for (const auto& [cause, count] : totals.failures) failures.push_back({{"cause", cause}, {"count", count}});
  json object = {{"saved_j", totals.saved_j},       {"transitions_j", totals.transitions_j},
                 {"asleep_j", totals.asleep_j},     {"cycles", totals.cycles},
                 {"tests", totals.tests},           {"tests_j", totals.tests_j},
                 {"failures", std::move(failures)}, {"waited_pods", totals.waited_pods},
                 {"waited_s", totals.waited_s}};
  from.config.tariff.add_to(object, totals.saved_j + totals.tests_j);
  return object;
}

json transitions_json(const power::SleepControl& sleep, const std::string& node, std::size_t limit) {
  json list = json::array();
  const auto& history = sleep.history();
  for (auto each = history.rbegin(); each != history.rend() && list.size() < limit; ++each)
    if (node.empty() || each->node == node)
      list.push_back({{"at_wall_s", unix_s(each->at)},
                      {"node", each->node},
                      {"from", text_of(each->from)},
                      {"to", text_of(each->to)},
                      {"reason", each->reason.empty() ? json(nullptr) : json(each->reason)},
                      {"operation", each->operation}});
  return list;
}

void add_sleep_states(Families& families, const power::SleepControl& sleep) {
  if (sleep.settings().mode != core::SleepMode::automatic && sleep.records().empty()) return;
  std::map<core::PowerState, std::size_t> nodes;
  for (const auto& [name, record] : sleep.records()) ++nodes[shown_state(sleep, record)];
  prometheus::MetricFamily& states =
      families.family("wattle_controller_sleep_nodes", "Nodes by power state.", prometheus::MetricType::Gauge);
  for (const core::PowerState state : core::kPowerStates)
    Families::add(states, {{"state", text_of(state)}}, static_cast<double>(nodes[state]));
  const power::SleepTotals totals = sleep.totals();
  families.gauge("wattle_controller_sleep_saved_joules",
                 "Energy saved by sleeps, net of transitions, from measured times and modelled watts.", totals.saved_j);
  families.counter("wattle_controller_sleep_cycles_total", "Sleeps from which the node was ready again.",
                   totals.cycles);
  prometheus::MetricFamily& failures = families.family(
      "wattle_controller_sleep_failures_total", "Sleeps and wakes that failed.", prometheus::MetricType::Counter);
  for (const auto& [cause, count] : totals.failures)
    Families::add(failures, {{"cause", cause}}, static_cast<double>(count));
  families.counter("wattle_controller_sleep_waited_pods_total", "Pods for which a node was woken.", totals.waited_pods);
  families.counter("wattle_controller_sleep_waited_seconds_total", "Time for which these pods waited.",
                   totals.waited_s);
  families.gauge("wattle_controller_sleep_waiting_pods", "Pods that need a node that still sleeps.",
                 static_cast<double>(waiting_pods(sleep).size()));
}

std::vector<Alarm> sleep_alarms(const Parts& from) {
  std::vector<Alarm> list;
  std::vector<const core::NodePowerRecord*> failed, blocked;
  for (const auto& [name, record] : from.sleep.records()) {
    const core::PowerState state = shown_state(from.sleep, record);
    if (state == core::PowerState::failed) failed.push_back(&record);
    if (state == core::PowerState::blocked) blocked.push_back(&record);
  }
  if (const std::size_t pods = waiting_pods(from.sleep).size(); pods > 0)
    list.push_back({"sleep",
                    std::to_string(pods) + (pods == 1 ? " pod needs" : " pods need") + " a node that still sleeps",
                    "fleet"});
  if (!failed.empty()) list.push_back({"sleep", nodes_words(failed, "failed to sleep or wake"), "fleet"});
  if (!blocked.empty()) list.push_back({"sleep", nodes_words(blocked, "may not sleep for now"), "fleet"});
  return list;
}

}  // namespace wattle::controller
