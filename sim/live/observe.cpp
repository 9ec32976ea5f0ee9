#include "sim/live/observe.hpp"

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "sim/live/server_switch.hpp"

namespace wattle::sim::live {

using json = SortedJson;

namespace {

constexpr std::chrono::milliseconds kTimeout{500};
constexpr std::size_t kMaxBody = 32 << 20;
constexpr std::string_view kAnswersMetric = "wattle_shim_answers_total";

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::uint64_t count(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_unsigned()) return found->get<std::uint64_t>();
  const double value = number(object, key).value_or(0);
  return value > 0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json* list(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

}  // namespace

Result<std::string> get(http::Client& client, const std::string& target, std::chrono::milliseconds timeout) {
  WATTLE_TRY(auto answer, client.request("GET", target, "", timeout));
  if (answer.status != 200)
    return fail(Errc::unavailable, target, "answered with status " + std::to_string(answer.status));
  return std::move(answer.body);
}

Result<SwarmView> parse_swarm_nodes(std::string_view body) {
  const json document = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  const json* const nodes = list(document, "nodes");
  if (nodes == nullptr) return fail(Errc::malformed, "swarm /nodes", "has no list of nodes");
  SwarmView view;
  view.epoch = text(document, "epoch");
  for (const json& entry : *nodes) {
    const json* const watts = list(entry, "watts");
    DriveNode node;
    if (entry.is_object()) node.server.name = text(entry, "name");
    if (node.server.name.empty() || watts == nullptr || watts->size() != kWattPoints)
      return fail(Errc::malformed, "swarm /nodes", "has a node without name or eleven watts");
    node.server.cores = number(entry, "cpu_cores").value_or(0);
    node.server.memory_bytes = number(entry, "memory_total_bytes").value_or(0);
    if (!(node.server.cores > 0)) return fail(Errc::malformed, "swarm /nodes", node.server.name + " has no cores");
    for (std::size_t i = 0; i < kWattPoints; ++i)
      node.server.watts[i] = (*watts)[i].is_number() ? (*watts)[i].get<double>() : 0.0;
    node.background_cores = number(entry, "background_cores").value_or(0);
    node.latency_ms = number(entry, "latency_ms");
    const std::string state = text(entry, "power_state");
    using State = ServerSwitch::State;
    if (!state.empty() && state != ServerSwitch::name_of(State::on))
      node.power.resting_w = state == ServerSwitch::name_of(State::off) ? ServerSwitch::off_w() : 0;
    node.power.shutdowns = count(entry, "shutdowns");
    node.power.boots = count(entry, "boots");
    view.nodes.push_back(std::move(node));
  }
  return view;
}

Result<std::vector<ControllerNode>> parse_controller_nodes(std::string_view body) {
  const json document = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  const json* const nodes = list(document, "nodes");
  if (nodes == nullptr) return fail(Errc::malformed, "/api/v1/nodes", "has no list of nodes");
  std::vector<ControllerNode> rows;
  for (const json& entry : *nodes) {
    if (!entry.is_object()) return fail(Errc::malformed, "/api/v1/nodes", "contains a node that is not an object");
    ControllerNode row;
    row.name = text(entry, "name");
    const auto connected = entry.find("connected");
    row.connected = connected != entry.end() && connected->is_boolean() && connected->get<bool>();
    row.energy_source = text(entry, "energy_source");
    if (const auto power = entry.find("power"); power != entry.end() && power->is_object())
      row.power_state = text(*power, "state");
    row.power_w = number(entry, "power_w");
    row.cpu_used_cores = number(entry, "cpu_used_cores");
    if (const json* const probes = list(entry, "latency"))
      for (const json& probe : *probes)
        if (probe.is_object() && (text(probe, "target") == "default" || !row.latency_ms))
          row.latency_ms = number(probe, "p50_ms");
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<ControllerStatus> parse_controller_status(std::string_view body) {
  const json document = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!document.is_object()) return fail(Errc::malformed, "/api/v1/status", "is not a JSON object");
  ControllerStatus status;
  status.mode = text(document, "mode");
  if (const auto modelled = document.find("modelled"); modelled != document.end() && modelled->is_object())
    status.saving = text(*modelled, "text");
  if (const json* const alarms = list(document, "alarms"))
    for (const json& alarm : *alarms)
      if (alarm.is_object()) status.alarms.push_back(text(alarm, "text"));
  if (const json* const contenders = list(document, "who_serves"); contenders != nullptr && !contenders->empty())
    status.learned_serves = text((*contenders)[0], "who") == "the network learned on this cluster";
  status.placements = count(document, "placements");
  status.outcomes = count(document, "outcomes");
  status.gradient_steps = count(document, "gradient_steps");
  status.mean_reward = number(document, "mean_reward");
  status.loss = number(document, "loss");
  status.decides = text(document, "network_gated");
  if (constexpr std::string_view kChoice = "the choice of "; status.decides.starts_with(kChoice))
    status.decides.erase(0, kChoice.size());
  if (status.decides.empty()) status.decides = "the policy " + text(document, "policy");
  if (const auto by = document.find("decided_by"); by != document.end() && by->is_object())
    for (const auto& [who, decisions] : by->items()) status.decided_by[who] = count(*by, who.c_str());
  return status;
}

std::map<std::string, double> metric_by_label(std::string_view text, std::string_view metric, std::string_view label) {
  std::map<std::string, double> values;
  const std::string opening = std::string(label) + "=\"";
  parse::for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with(metric) || line.size() <= metric.size() || line[metric.size()] != '{') return;
    const auto end = line.rfind('}');
    const auto at = line.find(opening);
    if (end == std::string_view::npos || at == std::string_view::npos || at > end) return;
    const auto begin = at + opening.size();
    const auto close = line.find('"', begin);
    const auto value = parse::real(parse::trim(line.substr(end + 1)));
    if (close == std::string_view::npos || !value) return;
    values[std::string(line.substr(begin, close - begin))] += *value;
  });
  return values;
}

Observer::Observer(const HttpAddress& swarm, const HttpAddress& controller, const HttpAddress& shim)
    : swarm_(swarm.host, swarm.port, kMaxBody),
      controller_(controller.host, controller.port, kMaxBody),
      shim_(shim.host, shim.port, kMaxBody) {}

Result<SwarmView> Observer::swarm() {
  WATTLE_TRY(const std::string body, get(swarm_, "/nodes", kTimeout));
  return parse_swarm_nodes(body);
}

void Observer::look_at_controller() {
  const auto read = [&]() -> Status {
    WATTLE_TRY(const std::string nodes_body, get(controller_, "/api/v1/nodes", kTimeout));
    WATTLE_TRY(const std::string status_body, get(controller_, "/api/v1/status", kTimeout));
    WATTLE_TRY(nodes, parse_controller_nodes(nodes_body));
    WATTLE_TRY(status, parse_controller_status(status_body));
    closed.clear();
    for (const ControllerNode& row : nodes)
      if (!row.power_state.empty() && row.power_state != "awake" && row.power_state != "blocked")
        closed.insert(row.name);
    return {};
  };
  controller_away = !read();
  if (controller_away) ++controller_misses;
}

void Observer::look_at_shim() {
  const auto body = get(shim_, "/metrics", kTimeout);
  if (!body) return;
  for (const auto& [source, value] : metric_by_label(*body, kAnswersMetric, "source"))
    answers_by_source[source].see(value);
}

}  // namespace wattle::sim::live
