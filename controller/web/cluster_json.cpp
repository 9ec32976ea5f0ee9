#include "controller/web/cluster_json.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/kube/pod.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/node_labels.hpp"
#include "controller/web/decision_json.hpp"
#include "controller/web/documents.hpp"
#include "controller/web/sleep_states.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

json psi_json(const Pressure& pressure) {
  return {{"cpu_some_ratio", or_null(pressure.cpu_some_ratio)},
          {"cpu_full_ratio", or_null(pressure.cpu_full_ratio)},
          {"memory_some_ratio", or_null(pressure.memory_some_ratio)},
          {"memory_full_ratio", or_null(pressure.memory_full_ratio)},
          {"io_some_ratio", or_null(pressure.io_some_ratio)},
          {"io_full_ratio", or_null(pressure.io_full_ratio)}};
}

json probe_json(const ProbeValues& probe) {
  return {{"target", probe.target},          {"p50_ms", or_null(probe.p50_ms)},
          {"p95_ms", or_null(probe.p95_ms)}, {"jitter_ms", or_null(probe.jitter_ms)},
          {"loss_ratio", probe.loss_ratio},  {"sent", probe.sent}};
}

json curve_json(const placement::PowerCurve& curve) {
  return {{"idle_w", number(curve.idle_w())},
          {"max_w", number(curve.max_w())},
          {"samples", curve.samples()},
          {"source", curve.samples() > 0 ? "fitted" : "prior"}};
}

json budget_json(const placement::Budget& budget) {
  const auto used = budget.used_ratio();
  return {{"limit", budget.in_force() ? json(budget.limit()) : json(nullptr)},
          {"in_force", budget.in_force()},
          {"set", budget.limit_set()},
          {"measured", or_null(budget.measured())},
          {"used_ratio", or_null(used)},
          {"exceeded", used.value_or(0) > 1},
          {"under_default", or_null(budget.under_default())}};
}

// Null if no API server reports the node.
json kube_json(const Node& node) {
  if (node.deleted) return {{"deleted", true}};
  if (node.kube == nullptr) return nullptr;
  return {{"ready", node.kube->ready},
          {"schedulable", !node.kube->cordoned},
          {"allocatable_cores", node.kube->cpu_cores},
          {"allocatable_bytes", node.kube->memory_bytes},
          {"kubelet", text_or_null(node.kube->kubelet)},
          {"problems", node.kube->problems}};
}

// By cpu_cores descending, then uid.
void sort_workloads(std::vector<json>& workloads) {
  const auto cores = [](const json& workload) {
    const json& value = workload.at("cpu_cores");
    return value.is_null() ? -1.0 : value.get<double>();
  };
  std::sort(workloads.begin(), workloads.end(), [&](const json& a, const json& b) {
    const double left = cores(a), right = cores(b);
    return left != right ? left > right : a.at("uid").get<std::string>() < b.at("uid").get<std::string>();
  });
}

}  // namespace

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json node_json(const Parts& from, const std::string& name, const Node& node) {
  const placement::NodeView& view = *from.state.node_view(name);
  const auto pods = std::count_if(node.workloads.begin(), node.workloads.end(),
                                  [](const auto& item) { return item.second.values.kind == WorkloadKind::pod; });
  json age_ms = nullptr;
  if (node.sampled_at) age_ms = std::max(0.0, seconds(from.clock.mono() - *node.sampled_at) * 1e3);
  const std::uint64_t capacity = node.kube != nullptr ? node.kube->pod_capacity : node.hello.pod_capacity;
  // The last readings are from before the sleep, so current values are unknown; the view has the power of a sleeping
  //          node.
  const bool asleep = power_state_of(from.sleep, name) == placement::sleep::PowerState::asleep;
  const NodeValues before_sleep, &values = asleep ? before_sleep : node.values;
  json latency = json::array();
  if (!asleep)
    for (const ProbeValues& probe : node.probes) latency.push_back(probe_json(probe));
  json object = {{"name", name},
                 {"connected", node.connected},
                 {"power", power_json(from.sleep, name)},
                 {"age_ms", age_ms},
                 {"kubernetes", kube_json(node)},
                 {"agent_version", node.hello.agent_version},
                 {"incarnation", node.incarnation},
                 {"cpu_used_cores", or_null(values.cpu_used_cores)},
                 {"cpu_cores", node.values.cpu_cores      ? json(*node.values.cpu_cores)
                               : node.hello.cpu_cores > 0 ? json(node.hello.cpu_cores)
                                                          : json(nullptr)},
                 {"memory_used_bytes", or_null(values.memory_used_bytes)},
                 {"memory_total_bytes", or_null(node.values.memory_total_bytes)},
                 {"net_rx_bytes_per_s", or_null(values.net_rx_bytes_per_s)},
                 {"net_tx_bytes_per_s", or_null(values.net_tx_bytes_per_s)},
                 {"disk_read_bytes_per_s", or_null(values.disk_read_bytes_per_s)},
                 {"disk_write_bytes_per_s", or_null(values.disk_write_bytes_per_s)},
                 {"disk_used_ratio", or_null(values.disk_used_ratio)},
                 {"tcp_established", or_null(values.tcp_established)},
                 {"psi", psi_json(values.pressure)},
                 {"power_w", or_null(asleep ? from.state.view_of(node).power_w : node.power_w)},
                 {"energy_source", std::string(to_string(asleep ? EnergySource::estimated : values.energy_source))},
                 {"idle_w", asleep ? json(nullptr) : or_null(node.idle_w)},
                 {"energy_j", or_null(node.energy_j)},
                 {"pods", pods},
                 {"pod_capacity", capacity == 0 ? json(nullptr) : json(capacity)},
                 {"cpu_requested_cores", view.requested.cpu_cores},
                 {"memory_requested_bytes", view.requested.memory_bytes},
                 {"in_flight", view.in_flight},
                 {"latency", std::move(latency)},
                 {"curve", curve_json(view.curve)},
                 {"starts", view.starts},
                 {"start_cap", from.decider.engine().options().mask.start_cap.of(view.allocatable.cpu_cores)}};
  from.config.tariff.add_to(object, node.energy_j);
  return object;
}

json workload_json(const Parts& from, const std::string& node, const std::string& uid, const Workload& workload) {
  const Pod* pod = workload.values.kind == WorkloadKind::pod ? from.state.pod(uid) : nullptr;
  const LoggedDecision* decision = pod == nullptr ? nullptr : from.decider.log().find(pod->decision_id);
  json object = {{"uid", uid},
                 {"name", pod != nullptr ? text_or_null(pod->spec.name) : json(nullptr)},
                 {"namespace", pod != nullptr ? text_or_null(pod->spec.pod_namespace) : json(nullptr)},
                 {"kind", std::string(to_string(workload.values.kind))},
                 {"unit", pod != nullptr ? text_or_null(pod->unit) : json(nullptr)},
                 {"node", node},
                 {"cgroup_id", workload.values.cgroup_id},
                 {"cpu_cores", or_null(workload.cpu_cores)},
                 {"memory_bytes", or_null(workload.values.memory_bytes)},
                 {"power_w", or_null(workload.power_w)},
                 {"energy_j", or_null(workload.energy_j)},
                 {"energy_source", std::string(to_string(from.state.node(node)->values.energy_source))},
                 {"psi", psi_json(workload.values.pressure)},
                 {"age_s", seconds(from.clock.mono() - workload.first_seen)},
                 {"decision_id", pod != nullptr && pod->decision_id != 0 ? json(pod->decision_id) : json(nullptr)},
                 {"why", decision == nullptr ? json(nullptr) : placed_because(*decision, node)}};
  from.config.tariff.add_to(object, workload.energy_j);
  return object;
}

namespace {

// A container's values of the last interval; null if the pod does not report it.
const ContainerValues* last_of(const Workload& pod, const std::string& id) {
  const auto& all = pod.values.containers;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.id == id; });
  return found == all.end() ? nullptr : &*found;
}

json use_json(std::uint64_t cpu_us, std::optional<std::uint64_t> energy_uj, std::int64_t interval_ns) {
  const double interval_s = static_cast<double>(interval_ns) * 1e-9;
  if (interval_ns <= 0) return {{"cpu_cores", nullptr}, {"power_w", nullptr}};
  return {{"cpu_cores", static_cast<double>(cpu_us) * 1e-6 / interval_s},
          {"power_w", energy_uj ? json(static_cast<double>(*energy_uj) * 1e-6 / interval_s) : json(nullptr)}};
}

}  // namespace

json pod_details_json(const Parts& from, const std::string& node, const std::string& uid, const Workload& workload) {
  json object = workload_json(from, node, uid, workload);
  const Pod* pod = from.state.pod(uid);
  const std::int64_t interval_ns = workload.cpu_cores ? from.state.node(node)->interval_ns : 0;
  const bool draws = workload.values.energy_uj.has_value();
  std::uint64_t cpu_us = 0, energy_uj = 0;
  double sum_j = 0;
  std::vector<const ContainerSum*> order;
  for (const ContainerSum& container : workload.containers) order.push_back(&container);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->energy_uj > b->energy_uj; });
  json containers = json::array();
  for (const ContainerSum* container : order) {
    const ContainerValues* last = last_of(workload, container->id);
    const std::uint64_t used_us = last == nullptr ? 0 : last->cpu_usage_us;
    const std::uint64_t drew_uj = last == nullptr ? 0 : last->energy_uj.value_or(0);
    json each = use_json(used_us, draws ? std::optional(drew_uj) : std::nullopt, interval_ns);
    each["id"] = container->id;
    each["name"] = pod == nullptr ? json(nullptr)
                                  : text_or_null(std::string(kube::container_name(pod->container_ids, container->id)));
    const double energy_j = static_cast<double>(container->energy_uj) * 1e-6;
    each["energy_j"] = workload.energy_j ? json(energy_j) : json(nullptr);
    from.config.tariff.add_to(each, workload.energy_j ? std::optional(energy_j) : std::nullopt);
    containers.push_back(std::move(each));
    cpu_us += used_us;
    energy_uj += drew_uj;
    sum_j += energy_j;
  }
  const std::uint64_t used_us = workload.values.cpu_usage_us.value_or(0),
                      drew_uj = workload.values.energy_uj.value_or(0);
  json rest = use_json(used_us - std::min(used_us, cpu_us),
                       draws ? std::optional(drew_uj - std::min(drew_uj, energy_uj)) : std::nullopt, interval_ns);
  const auto rest_j = workload.energy_j ? std::optional(std::max(0.0, *workload.energy_j - sum_j)) : std::nullopt;
  rest["energy_j"] = or_null(rest_j);
  from.config.tariff.add_to(rest, rest_j);
  object["containers"] = std::move(containers);
  object["rest"] = std::move(rest);
  return object;
}

json findings_json(const Node& node) {
  json findings = json::array();
  for (const std::string& text : node.hello.findings) {
    const Finding finding = parse_finding(text);
    findings.push_back(
        {{"name", finding.name}, {"state", finding.state}, {"detail", finding.detail}, {"fix", finding.fix}});
  }
  return findings;
}

json node_details_json(const Parts& from, const std::string& name, const Node& node) {
  json object = node_json(from, name, node);
  object["labels"] = labels_of(node);
  object["features"] = node.hello.features;
  object["findings"] = findings_json(node);
  object["unattributed_w"] = or_null(node.unattributed_w);
  json domains = json::array();
  for (const EnergyDomain& domain : node.values.domains) {
    json power_w = nullptr;
    if (node.interval_ns > 0)
      power_w = static_cast<double>(domain.energy_uj) * 1e3 / static_cast<double>(node.interval_ns);
    domains.push_back({{"name", domain.name}, {"power_w", power_w}, {"gap", domain.gap}});
  }
  object["domains"] = std::move(domains);
  std::vector<json> workloads;
  for (const auto& [uid, workload] : node.workloads) workloads.push_back(workload_json(from, name, uid, workload));
  sort_workloads(workloads);
  object["workloads"] = std::move(workloads);
  return object;
}

json budgets_json(const placement::PodTime& pod_time) {
  json budgets = {{"cpu_wait", budget_json(pod_time.cpu_wait())}, {"late", budget_json(pod_time.late())}};
  budgets["cpu_wait"]["price_w"] = pod_time.cpu_wait().price();
  budgets["late"]["price"] = pod_time.latency_price();
  return budgets;
}

}  // namespace wattle::controller
