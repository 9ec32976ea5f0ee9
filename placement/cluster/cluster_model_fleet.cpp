// cluster_model_fleet: fills the rows of a Fleet for a view.
#include <algorithm>
#include <cmath>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

// Fills the values that change between decisions.
void fill_node(FleetNode& out, const NodeView& node, bool has_room) {
  out.requested = sane(Resources{node.requested.cpu_cores + node.in_flight_request.cpu_cores,
                                 node.requested.memory_bytes + node.in_flight_request.memory_bytes});
  out.pods = node.pods + node.in_flight;
  out.pod_capacity = node.pod_capacity;
  out.allocatable = size_of(node);
  if (!has_room) {
    out.pod_capacity = out.pods;
    out.allocatable = {};
  }
}

}  // namespace

void ClusterModel::fill_row(const ClusterView& view, std::size_t row) {
  const NodeView& node = view.nodes[row];
  FleetNode& out = fleet_.nodes[row];
  const Known& known = *rows_[row].known;
  fill_node(out, node, rows_[row].usable);
  out.used_cores = sane(known.pods_cores + known.other_cores + cores_per_request_ * node.in_flight_request.cpu_cores +
                            (known.pods == 0 ? node.unsettled_cpu_cores : 0.0),
                        kMostCores);
  out.used_cores2 = sane(spread() * (std::max(0.0, known.pods_cores2) + known.other_cores2) +
                             static_cast<double>(node.in_flight) * fleet_.expected_burst_cores2,
                         kMostCores * kMostCores);
  out.unsure_cores = sane(std::max(0.0, known.unsure_cores), kMostCores);
  out.waiting = known.waiting.curve();
  out.wait_error = known.waiting.residual_sd();
  out.apps = &known.apps;
  const double mean_life_s = known.pods > 0 ? std::max(0.0, known.life_s) / static_cast<double>(known.pods) : 0.0;
  out.empties_at_s = fleet_.now_s + last_ends_in_s(mean_life_s, known.pods);
  if (fleet_.idle_nodes_sleep) {
    out.sleeps = node.asleep || out.pods == 0;
    out.sleep_w = options_.sleep_w;
    out.wake_j = sane(node.wake_cost_j, kMostJoules);
  }
  if (!fleet_.edition_of.empty()) fleet_.edition_of[row] = ++fleet_.edition;
}

void ClusterModel::fill(const ClusterView& view) {
  fleet_.now_s = seconds(view.now.time_since_epoch());
  fleet_.idle_nodes_sleep =
      fleet_.idle_nodes_sleep || options_.idle_nodes_sleep ||
      std::any_of(view.nodes.begin(), view.nodes.end(), [](const auto& node) { return node.asleep; });
  fleet_.edition_of.resize(view.edition_of.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) fill_row(view, row);
  touched_.clear();
  filled_ = view.edition;
}

// Like fill(), but only for the rows that the view reports as changed. The clock advances with the next refresh.
void ClusterModel::update(const ClusterView& view) {
  if (view.edition_of.empty() || rows_.size() != view.nodes.size()) {
    if (same_nodes(view))
      fill(view);
    else
      refresh(view);
    return;
  }
  bool all = touched_.size() >= rows_.size();  // touched_ is at its limit
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (view.edition_of[row] <= filled_) continue;
    if (rows_[row].name != view.nodes[row].name) {
      refresh(view);
      return;
    }
    all = all || (view.nodes[row].asleep && !fleet_.idle_nodes_sleep);
    fill_row(view, row);
  }
  if (all) return fill(view);
  for (const std::size_t row : touched_) fill_row(view, row);
  touched_.clear();
  filled_ = view.edition;
}

Fleet& ClusterModel::fleet(const ClusterView& view) {
  update(view);
  return all_open();
}

Fleet& ClusterModel::all_open() {
  fleet_.pairs = pairs_.pairs() > 0 ? &pairs_ : nullptr;
  if (!fleet_.only.empty())
    for (FleetNode& node : fleet_.nodes) node.open = true;
  fleet_.only.clear();
  return fleet_;
}

Fleet& ClusterModel::fleet(const ClusterView& view, std::vector<std::size_t> only) {
  update(view);
  fleet_.pairs = pairs_.pairs() > 0 ? &pairs_ : nullptr;
  if (fleet_.only.empty()) {
    for (FleetNode& node : fleet_.nodes) node.open = false;
  } else {
    for (const std::size_t row : fleet_.only) fleet_.nodes[row].open = false;
  }
  for (const std::size_t row : only) fleet_.nodes[row].open = true;
  fleet_.only = std::move(only);
  return fleet_;
}

Fleet fleet_of(const ClusterView& view) {
  Fleet fleet;
  fleet.pods_stay = false;
  fleet.nodes.resize(view.nodes.size());
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const NodeView& node = view.nodes[i];
    FleetNode& out = fleet.nodes[i];
    fill_node(out, node, true);
    out.used_cores = sane(expected_cpu_cores(node), kMostCores);
    out.watts = node.curve.points();
    out.curve_error_w = node.curve.residual_sd_w();
    out.sleeps = node.asleep;
    out.wake_j = sane(node.wake_cost_j, kMostJoules);
    fleet.idle_nodes_sleep = fleet.idle_nodes_sleep || node.asleep;
  }
  return fleet;
}

PodEstimate ask_of(const PodSpec& pod) { return {sane(pod.request), sane(demand_cores(pod), kMostCores), kHour_s}; }

}  // namespace wattle::placement
