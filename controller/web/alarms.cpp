#include "controller/web/alarms.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "controller/decisions/decider.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/web/sleep_states.hpp"

namespace wattle::controller {

namespace {

std::string budget_text(const placement::Budget& budget, const char* what) {
  constexpr double kPercent = 100;
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "pods %s for %.1f%% of their time, %.1f times the budget of %.1f%%", what,
                kPercent * budget.measured().value_or(0), budget.used_ratio().value_or(0), kPercent * budget.limit());
  return text.data();
}

std::string shims_text(const std::vector<std::string>& silent) {
  const std::string who =
      silent.size() == 1 ? "the shim " + silent.front() + " is" : std::to_string(silent.size()) + " shims are";
  return who + " silent: the breaker is open, or the shim is gone; pods are placed without Wattle";
}

std::string nodes_text(const FleetSums& sums) {
  return std::to_string(sums.silent) + " of " + std::to_string(sums.nodes) +
         (sums.silent == 1 ? " nodes is silent and gets" : " nodes are silent and get") + " no pods from Wattle";
}

std::string overload_text(Duration tick) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "the controller is overloaded: agents send a record every %.1f s, and its data is older",
                seconds(tick));
  return text.data();
}

}  // namespace

std::string Alarm::command() const {
  if (what == "right-size") return "wattle provision mode";
  if (what == "sleep") return "wattle sleep status";
  if (view == "saving") return "wattle policy get";
  return view == "learning" ? "wattle model list" : "wattle doctor";
}

std::vector<Alarm> alarms(const Parts& from, const FleetSums& sums) {
  std::vector<Alarm> list;
  if (from.store.on())
    if (const std::string problem = from.store.figures().problem; !problem.empty())
      list.push_back({"store", "the store accepts no records: " + problem, "health"});
  if (const Duration tick = from.telemetry.shedding().tick; tick > Duration{0})
    list.push_back({"overload", overload_text(tick), "health"});
  const placement::PodTime& pod_time = from.decider.engine().cluster_model().pod_time();
  const double waiting = pod_time.cpu_wait().used_ratio().value_or(0), late = pod_time.late().used_ratio().value_or(0);
  if (waiting > 1) list.push_back({"cpu_wait", budget_text(pod_time.cpu_wait(), "wait for CPU"), "saving"});
  if (late > 1) list.push_back({"late", budget_text(pod_time.late(), "exceed their soft latency"), "saving"});
  if (waiting > 1 && late > waiting) std::swap(list.back(), list[list.size() - 2]);
  for (std::string& text : from.sizing.alarms()) list.push_back({"right-size", std::move(text), "saving"});
  for (Alarm& alarm : sleep_alarms(from)) list.push_back(std::move(alarm));
  std::vector<std::string> silent;
  for (const auto& [key, shim] : from.shims.all())
    if (!Shims::connected(shim, from.clock.mono())) silent.push_back(shim.peer + " on " + shim.host);
  if (!silent.empty()) list.push_back({"shim", shims_text(silent), "health"});
  if (sums.silent > 0) list.push_back({"nodes", nodes_text(sums), "health"});
  const NetworkChoice::NetworkStates networks = from.decider.networks().states();
  for (const auto& [name, state] : {std::pair("initial", networks.baseline), {"learned", networks.learned}})
    if (state == stats::NetworkState::withdrawn)
      list.push_back(
          {"network", "the " + std::string(name) + " network is withdrawn: its choices cost more", "learning"});
  return list;
}

SortedJson alarms_json(const Parts& from, const FleetSums& sums) {
  SortedJson list = SortedJson::array();
  for (const Alarm& alarm : alarms(from, sums))
    list.push_back({{"what", alarm.what}, {"text", alarm.text}, {"view", alarm.view}, {"command", alarm.command()}});
  return list;
}

}  // namespace wattle::controller
