#include "controller/web/fleet_json.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>

#include "common/base64.hpp"
#include "common/json/value.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/web/alarms.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/saving_json.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Whole steps of 1 / `scale`; the largest number is for what is not known.
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

json rounded(float value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(static_cast<double>(value) * 1e4) / 1e4;
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
                {"policy", from.decider.policy()},
                {"nodes", sums.nodes},
                {"nodes_silent", sums.silent},
                {"nodes_asleep", sums.asleep},
                {"nodes_masked", sums.masked},
                {"nodes_measured", sums.measured},
                {"nodes_estimated", sums.estimated},
                {"measured_w", or_null(sums.measured_w)},
                {"estimated_w", or_null(sums.estimated_w)},
                {"default_w", or_null(default_w(from, sums))},
                {"modelled", modelled_json(saving_now(from))},
                {"alarms", alarms_json(from, sums)},
                {"idle", idle_json(from.config.tariff, sums, could_sleep(from, sums))},
                {"cpu_used_cores", or_null(sums.cpu_used_cores)},
                {"cpu_cores", or_null(sums.cpu_cores)},
                {"pods", sums.pods},
                {"decisions", decided.decisions},
                {"decided_by", decided_by_json(from.decider.log())},
                {"placements", decided.placements},
                {"outcomes", decided.outcomes},
                {"budgets", budgets_json(from.decider.cluster_model())}};
  from.config.tariff.add_to(fleet, per_day_j(sums.power_w()), "_per_day");
  return json{{"fleet", std::move(fleet)}}.dump();
}

Document heat_text(const Parts& from, bool names) {
  struct Heat {
    std::string cells;
    json list = json::array();
    std::size_t nodes = 0;
  };
  const auto heat = std::make_shared<Heat>();
  Steps steps = each_of(from.state.nodes(), [&from, heat, names](const auto& item) {
    const NodeGlance now = glance(from, item.first, item.second);
    put(heat->cells, now.power_w, 10);
    put(heat->cells, now.use_ratio, 1e4);
    put(heat->cells, now.pressure_ratio, 1e4);
    put(heat->cells, now.latency_ms, 10);
    const unsigned flags = (now.silent ? 1U : 0U) | (now.masked ? 2U : 0U) | (now.full ? 4U : 0U) |
                           (now.estimated ? 8U : 0U) | (now.asleep ? 16U : 0U);
    heat->cells += static_cast<char>(flags);
    if (names) heat->list.push_back(item.first);
    ++heat->nodes;
  });
  return then(std::move(steps), [&from, heat, names] {
    json object{{"edition", std::to_string(edition_of(from.state))},
                {"nodes", heat->nodes},
                {"cells", base64_encode(heat->cells)}};
    if (names) object["names"] = std::move(heat->list);
    return ready(Result<std::string>(json{{"heat", std::move(object)}}.dump()));
  });
}

Result<std::string> history_text(const Series& series, const Arguments& arguments) {
  const auto node = arguments.find("node"), pod = arguments.find("pod"), span = arguments.find("span");
  if (node != arguments.end() && pod != arguments.end())
    return fail(Errc::malformed, "arguments node and pod", "are both given", "pass one of them");
  if (span != arguments.end() && span->second != "1h" && span->second != "24h")
    return fail(Errc::malformed, "argument span", "invalid value '" + span->second + "'", "use 1h or 24h");
  if (span != arguments.end() && (node != arguments.end() || pod != arguments.end()))
    return fail(Errc::malformed, "argument span", "is only for the fleet", "omit it");
  Series::Past past = series.fleet(span != arguments.end() && span->second == "24h");
  if (node != arguments.end()) past = series.node(node->second);
  if (pod != arguments.end()) past = series.pod(pod->second);
  if (past.ring == nullptr)
    return fail(Errc::not_found, node != arguments.end() ? "node " + node->second : "pod " + pod->second,
                "has no recorded history", "wait 20 s; list nodes and pods with `wattle nodes` and `wattle pods`");
  json values = json::object();
  for (std::size_t column = 0; column < past.names.size(); ++column) {
    json list = json::array();
    for (std::size_t row = 0; row < past.ring->size(); ++row) list.push_back(rounded(past.ring->at(row, column)));
    values[std::string(past.names[column])] = std::move(list);
  }
  return json{
      {"history", {{"step_s", seconds(past.step)}, {"end_wall_ns", to_ns(past.end)}, {"values", std::move(values)}}}}
      .dump();
}

}  // namespace wattle::controller
