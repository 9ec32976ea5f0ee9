#include "controller/web/fleet_json.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>

#include "common/base64.hpp"
#include "controller/decisions/contender.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/web/alarms.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/saving_json.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Whole steps of 1 / `scale`; the largest number marks an unknown value.
void put(std::string& bytes, const std::optional<double>& value, double scale) {
  constexpr std::uint16_t kUnknown = std::numeric_limits<std::uint16_t>::max();
  std::uint16_t number = kUnknown;
  if (value && std::isfinite(*value))
    number = static_cast<std::uint16_t>(std::clamp(std::round(*value * scale), 0.0, kUnknown - 1.0));
  bytes += static_cast<char>(number & 0xffU);
  bytes += static_cast<char>(number >> 8U);
}

// Changes with the set of names.
std::uint64_t edition_of(const ClusterState& state) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& [name, node] : state.nodes())
    for (std::size_t i = 0; i <= name.size(); ++i)
      hash = (hash ^ static_cast<unsigned char>(i < name.size() ? name[i] : '\0')) * 0x100000001b3U;
  return hash & ((std::uint64_t{1} << 53U) - 1);  // whole in JavaScript
}

// A label of the API server takes precedence over one of the agent. Empty: the node has none.
std::string node_label(const Node& node, const std::string& label) {
  const auto in = [&](const auto& labels) -> const std::string* {
    const auto found = labels.find(label);
    return found == labels.end() ? nullptr : &found->second;
  };
  const std::string* value = node.kube == nullptr ? nullptr : in(node.kube->labels);
  if (value == nullptr) value = in(node.hello.labels);
  return value == nullptr ? std::string() : *value;
}

// The current decider, and why it decides.
json decides_json(const Parts& from) {
  std::string who = "the policy " + from.decider.spec().policy;
  for (const Contender& one : from.decider.networks().contenders())
    if (one.serves) who = one.who;
  const std::string why(from.decider.engine().gated_why());
  const auto reason = why.find(": ");
  return {{"who", who}, {"why", text_or_null(reason == std::string::npos ? why : why.substr(reason + 2))}};
}

}  // namespace

json decided_by_json(const DecisionLog& log) {
  constexpr std::ptrdiff_t kNewest = 100;
  const auto& entries = log.entries();
  json counts = json::object();
  for (auto entry = entries.end() - std::min(std::ssize(entries), kNewest); entry != entries.end(); ++entry)
    if (const std::string& who = entry->decision.decided_by; !who.empty()) counts[who] = counts.value(who, 0) + 1;
  return counts;
}

std::optional<double> per_day_j(std::optional<double> power_w) {
  constexpr double kDay_s = 86'400;
  return power_w ? std::optional(*power_w * kDay_s) : std::nullopt;
}

json idle_json(const Tariff& tariff, const FleetSums& sums, const CouldSleep& could) {
  const auto part = [&](std::optional<double> power_w) {
    json object{{"power_w", or_null(power_w)}, {"energy_j_per_day", or_null(per_day_j(power_w))}};
    tariff.add_to(object, per_day_j(power_w), "_per_day");
    return object;
  };
  json idle = part(sums.idle_w);
  const auto power_w = sums.power_w();
  idle["ratio"] = sums.idle_w && power_w && *power_w > 0 ? json(*sums.idle_w / *power_w) : json(nullptr);
  json sleeping = part(could.saved_w);
  sleeping["nodes"] = could.nodes;
  sleeping["assumption"] = could.assumption;
  idle["sleeping"] = std::move(sleeping);
  return idle;
}

std::string fleet_text(const Parts& from, const FleetSums& sums) {
  const DeciderFigures& decided = from.decider.figures();
  json fleet = {{"wall_ns", to_ns(from.clock.wall())},
                {"uptime_s", seconds(from.clock.mono() - from.started)},
                {"mode", from.decider.spec().mode.text()},
                {"policy", from.decider.spec().policy},
                {"nodes", sums.nodes},
                {"nodes_silent", sums.silent},
                {"nodes_asleep", sums.asleep},
                {"nodes_masked", sums.masked},
                {"nodes_measured", sums.measured},
                {"nodes_estimated", sums.estimated},
                {"measured_w", or_null(sums.measured_w)},
                {"estimated_w", or_null(sums.estimated_w)},
                {"default_w", or_null(default_w(from, sums))},
                {"modelled", modelled_json(saving_now(from), from.config.tariff)},
                {"alarms", alarms_json(from, sums)},
                {"idle", idle_json(from.config.tariff, sums, could_sleep(from, sums))},
                {"cpu_used_cores", or_null(sums.cpu_used_cores)},
                {"cpu_cores", or_null(sums.cpu_cores)},
                {"pods", sums.pods},
                {"decisions", decided.decisions},
                {"decided_by", decided_by_json(from.decider.log())},
                {"decides", decides_json(from)},
                {"placements", decided.placements},
                {"outcomes", decided.outcomes},
                {"budgets", budgets_json(from.decider.engine().cluster_model().pod_time())}};
  from.config.tariff.add_to(fleet, per_day_j(sums.power_w()), "_per_day");
  return json{{"fleet", std::move(fleet)}}.dump();
}

Document heat_text(const Parts& from, bool names, const std::string& label) {
  struct Heat {
    std::string cells;
    json list = json::array(), groups = json::array();
    std::size_t nodes = 0;
  };
  const auto heat = std::make_shared<Heat>();
  Steps steps = each_of(from.state.nodes(), [&from, heat, names, label](const auto& item) {
    const NodeGlance now = glance(from, item.first, item.second);
    put(heat->cells, now.power_w, 10);
    put(heat->cells, now.use_ratio, 1e4);
    put(heat->cells, now.pressure_ratio, 1e4);
    put(heat->cells, now.latency_ms, 10);
    const unsigned flags = (now.silent ? 1U : 0U) | (now.masked ? 2U : 0U) | (now.full ? 4U : 0U) |
                           (now.estimated ? 8U : 0U) | (now.asleep ? 16U : 0U);
    heat->cells += static_cast<char>(flags);
    if (names) heat->list.push_back(item.first);
    if (!label.empty()) heat->groups.push_back(text_or_null(node_label(item.second, label)));
    ++heat->nodes;
  });
  return then(std::move(steps), [&from, heat, names, grouped = !label.empty()] {
    json object{{"edition", std::to_string(edition_of(from.state))},
                {"nodes", heat->nodes},
                {"cells", base64_encode(heat->cells)}};
    if (names) object["names"] = std::move(heat->list);
    if (grouped) object["groups"] = std::move(heat->groups);
    return ready(Result<std::string>(json{{"heat", std::move(object)}}.dump()));
  });
}

}  // namespace wattle::controller
