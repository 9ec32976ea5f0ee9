#include "placement/worth/node_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/cluster/curve_points.hpp"
#include "placement/cluster/waiting.hpp"
#include "placement/worth/feature_scale.hpp"

namespace wattle::placement {
namespace {

using namespace feature;

constexpr double kInFlightReference = 8;

double io_used(const NodeView& node) {
  const NodeValues& values = node.values;
  const double net = std::max(values.net_rx_bytes_per_s.value_or(0), values.net_tx_bytes_per_s.value_or(0));
  const double disk = values.disk_read_bytes_per_s.value_or(0) + values.disk_write_bytes_per_s.value_or(0);
  return std::max(part(net, node.link_bytes_per_s), part(disk, node.disk_bytes_per_s));
}

void write_features(NodeFacts& facts, const NodeView& node, double expected_cores) {
  const Pressure& pressure = node.values.pressure;
  const double coming_cores = expected_cores - node.values.cpu_used_cores.value_or(0);
  auto& out = facts.features;
  out[kCpuRequested] = ratio(part(node.requested.cpu_cores, node.allocatable.cpu_cores));
  out[kCpuUsed] = ratio(cpu_utilisation(node).value_or(0));
  out[kMemoryRequested] = ratio(part(node.requested.memory_bytes, node.allocatable.memory_bytes));
  out[kMemoryUsed] = ratio(part(static_cast<double>(node.values.memory_used_bytes.value_or(0)),
                                static_cast<double>(node.values.memory_total_bytes.value_or(0))));
  out[kPodsComing] = ratio(static_cast<double>(node.in_flight + node.unsettled) / kInFlightReference);
  out[kCpuComing] = ratio(part(coming_cores, facts.cores));
  out[kPods] = ratio(part(static_cast<double>(node.pods), static_cast<double>(node.pod_capacity)));
  out[kCores] = logarithm(facts.cores - 1, 8);
  out[kPsiCpu] = ratio(stalled_ratio(node).value_or(0));
  out[kPsiOther] = ratio(std::max(pressure.memory_some_ratio.value_or(0), pressure.io_some_ratio.value_or(0)));
  out[kActive] = flag(node.pods + node.in_flight + node.unsettled > 0);
  out[kAsleep] = flag(node.asleep);
  out[kIoUsed] = ratio(io_used(node));
}

}  // namespace

double NodeFacts::marginal_w(double demand_cores) const {
  const double by = std::max(0.0, demand_cores) * per_core;
  if (!std::isfinite(expected_ratio) || !std::isfinite(by)) return 0;
  return extended_w(watts, slope_beyond_w, expected_ratio + by) - expected_w;
}

NodeFacts node_facts(const NodeView& node) {
  NodeFacts facts;
  const double expected_cores = expected_cpu_cores(node);
  facts.cores = cores_of(node);
  facts.watts = node.curve.points();
  facts.half_w = node.curve.watts(0.5);
  facts.slope_beyond_w = slope_beyond_w(facts.watts);
  facts.per_core = utilisation_per_core(node);
  facts.expected_ratio = std::max(0.0, expected_cores * facts.per_core);
  facts.expected_w = extended_w(facts.watts, facts.slope_beyond_w, facts.expected_ratio);
  facts.curve_slope_w = node.curve.marginal_w(facts.cores > 0 ? expected_cores / facts.cores : 0, 0.1) * 10;
  facts.allocatable = node.allocatable;
  facts.pod_capacity = static_cast<double>(node.pod_capacity);
  facts.requested_cores = within(node.requested.cpu_cores + node.in_flight_request.cpu_cores, 1e9);
  facts.capacity_cores = within(node.allocatable.cpu_cores, 1e9);
  facts.memory_bytes = within(node.allocatable.memory_bytes, 1e18);
  facts.tcp_established = static_cast<double>(node.values.tcp_established.value_or(0));
  facts.latency_ms = latency_for(node, std::string_view()).value_or(std::numeric_limits<double>::quiet_NaN());
  facts.wakes = node.asleep && node.in_flight == 0 && node.unsettled == 0;
  facts.wake_cost_j = node.wake_cost_j;
  write_features(facts, node, expected_cores);
  return facts;
}

void FactsOfNodes::look(const ClusterView& view, std::span<const std::size_t> nodes, bool reported) {
  reported = reported && view.edition_of.size() == view.nodes.size();
  facts_.resize(view.nodes.size());
  if (!reported) {
    edition_of_.clear();
    for (const std::size_t node : nodes) facts_[node] = node_facts(view.nodes[node]);
    return;
  }
  if (view_ != &view) edition_of_.clear();
  view_ = &view;
  edition_of_.resize(view.nodes.size(), kNever);
  for (const std::size_t node : nodes) {
    if (edition_of_[node] == view.edition_of[node]) continue;
    edition_of_[node] = view.edition_of[node];
    facts_[node] = node_facts(view.nodes[node]);
  }
}

}  // namespace wattle::placement
