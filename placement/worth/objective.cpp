#include "placement/worth/objective.hpp"

#include <algorithm>

namespace wattle::placement {

double node_cost_w(const FleetNode& node, double used_cores, double variance, double cpu_wait_price_w) {
  const double watts = node.watts_at(used_cores);
  if (!(cpu_wait_price_w > 0)) return watts;
  return watts + cpu_wait_price_w * node.waiting.waiting_cores(used_cores, variance, node.allocatable.cpu_cores);
}

double added_wait_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  if (!(fleet.cpu_wait_price_w > 0)) return 0;
  const FleetNode& node = fleet.nodes[i];
  const double cores = node.allocatable.cpu_cores;
  const double before_cores = node.used_cores + node.uncertain_cores;
  const double after = node.waiting.waiting_cores(before_cores + ask.demand_cores + ask.uncertain_cores,
                                                  node.used_cores2 + ask.demand_cores2, cores);
  if (!(after > 0)) return 0;
  return fleet.cpu_wait_price_w *
         std::max(0.0, after - node.waiting.waiting_cores(before_cores, node.used_cores2, cores));
}

double added_cost_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  return added_w(fleet, i, ask) + added_wait_w(fleet, i, ask);
}

double amortised_cost_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  return amortised_w(fleet.nodes[i], ask) + added_wait_w(fleet, i, ask);
}

double late_cost(double latency_price, const PodSpec& pod, std::optional<double> latency_ms) {
  if (!pod.latency_soft_ms && !pod.latency_hard_ms) return 0;
  return std::max(1.0, latency_price) * (1 - latency_term(latency_ms, pod.latency_soft_ms, pod.latency_hard_ms));
}

void price_latency(double latency_price, std::span<Prediction> predictions) {
  if (!(latency_price > 1)) return;
  for (Prediction& prediction : predictions) prediction.latency_price = latency_price;
}

}  // namespace wattle::placement
