#include "placement/cluster/fleet_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/cluster/sane_view.hpp"
#include "placement/cluster/view_fleet.hpp"

namespace wattle::placement {

namespace {

// Compares at the loads to which nodes are filled, where a difference would change a plan.
bool other_waiting(const WaitingCurve& a, const WaitingCurve& b) {
  constexpr double kNoticed = 0.03;
  for (const double load : {0.5, 0.7, 0.9})
    if (std::abs(a.wait(load, 0.01, 1) - b.wait(load, 0.01, 1)) > kNoticed) return true;
  return false;
}

bool may_sleep(const NodeView& node) { return node.asleep || node.wake_cost_j > 0; }

}  // namespace

FleetRows::FleetRows(FleetRowsOptions options) : options_(options) {
  fleet_.pods_stay = false;
  fleet_.revision = 1;
}

bool FleetRows::same_nodes(const ClusterView& view) const {
  if (rows_.size() != view.nodes.size()) return false;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].name != view.nodes[i].name) return false;
  return true;
}

void FleetRows::list_nodes(const ClusterView& view, KnownNodes& nodes) {
  for (auto& [name, known] : nodes) known.row = KnownNode::kNoRow;
  rows_.clear();
  fleet_.nodes.assign(view.nodes.size(), {});
  fleet_.only.clear();
  for (const NodeView& node : view.nodes) {
    KnownNode& known = nodes[node.name];
    known.row = rows_.size();
    rows_.push_back({node.name, &known, false, {}, {}, {}});
  }
}

void FleetRows::set_curve(std::size_t row, const PowerCurve& curve) {
  FleetNode& node = fleet_.nodes[row];
  node.watts = curve.points();
  node.curve_error_w = curve.residual_sd_w();
  double& kept_w = rows_[row].known->half_load_w;
  const double half_load_w = curve.watts(0.5);
  if (std::abs(half_load_w - kept_w) > kOrderHysteresis * kept_w) kept_w = half_load_w;
  node.half_load_w = kept_w;
}

void FleetRows::fill_row(const ClusterView& view, const RowValues& values, std::size_t row) {
  const NodeView& node = view.nodes[row];
  FleetNode& out = fleet_.nodes[row];
  const KnownNode& known = *rows_[row].known;
  const PodSums& sums = known.sums;
  fill_node(out, node, rows_[row].usable);
  out.used_cores = sane(sums.cores + known.other.cores + values.cores_per_request * node.in_flight_request.cpu_cores +
                            (sums.pods == 0 ? node.unsettled_cpu_cores : 0.0),
                        kMostCores);
  out.used_cores2 = sane(values.spread * (std::max(0.0, sums.cores2) + known.other.cores2) +
                             static_cast<double>(node.in_flight) * fleet_.expected_burst_cores2,
                         kMostCores * kMostCores);
  out.uncertain_cores = sane(std::max(0.0, sums.uncertain_cores), kMostCores);
  out.waiting = known.waiting.model.curve();
  out.wait_error = known.waiting.model.residual_sd();
  out.apps = &known.apps;
  const double mean_life_s = sums.pods > 0 ? std::max(0.0, sums.life_s) / static_cast<double>(sums.pods) : 0.0;
  out.empties_at_s = fleet_.now_s + last_ends_in_s(mean_life_s, sums.pods);
  out.sleeps = fleet_.idle_nodes_sleep && (node.asleep || out.pods == 0);
  out.sleep_w = fleet_.idle_nodes_sleep ? options_.sleep_w : 0;
  out.wake_j = fleet_.idle_nodes_sleep && node.asleep ? sane(node.wake_cost_j, kMostJoules) : 0;
  if (!fleet_.edition_of.empty()) fleet_.edition_of[row] = ++fleet_.edition;
}

void FleetRows::fill(const ClusterView& view, const RowValues& values, ChangedRows& changed) {
  fleet_.now_s = seconds(view.now.time_since_epoch());
  const auto any = [&](const auto& is) { return std::any_of(view.nodes.begin(), view.nodes.end(), is); };
  fleet_.idle_nodes_sleep = options_.idle_nodes_sleep || any([](const NodeView& node) { return node.asleep; }) ||
                            (fleet_.idle_nodes_sleep && any(may_sleep));
  fleet_.edition_of.resize(view.edition_of.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) fill_row(view, values, row);
  changed.reset(rows_.size());
  filled_ = view.edition;
}

bool FleetRows::update(const ClusterView& view, const RowValues& values, ChangedRows& changed) {
  if (view.edition_of.empty() || rows_.size() != view.nodes.size()) {
    if (!same_nodes(view)) return false;
    fill(view, values, changed);
    return true;
  }
  bool all = changed.full();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (view.edition_of[row] <= filled_) continue;
    if (rows_[row].name != view.nodes[row].name) return false;
    all = all || (view.nodes[row].asleep && !fleet_.idle_nodes_sleep);
    fill_row(view, values, row);
  }
  const bool ended = fleet_.idle_nodes_sleep && !options_.idle_nodes_sleep &&
                     std::none_of(view.nodes.begin(), view.nodes.end(), may_sleep);
  if (all || ended) {
    fill(view, values, changed);
    return true;
  }
  for (const std::size_t row : changed.rows()) fill_row(view, values, row);
  changed.reset(rows_.size());
  filled_ = view.edition;
  return true;
}

void FleetRows::open_all() {
  if (!fleet_.only.empty())
    for (FleetNode& node : fleet_.nodes) node.open = true;
  fleet_.only.clear();
}

void FleetRows::open_only(std::vector<std::size_t> rows) {
  if (fleet_.only.empty()) {
    for (FleetNode& node : fleet_.nodes) node.open = false;
  } else {
    for (const std::size_t row : fleet_.only) fleet_.nodes[row].open = false;
  }
  for (const std::size_t row : rows) fleet_.nodes[row].open = true;
  fleet_.only = std::move(rows);
}

bool FleetRows::moved(const ClusterView& view, bool curves) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const FleetNode& node = fleet_.nodes[i];
    const Resources size = size_of(view.nodes[i]);
    if (row.usable != usable(view.nodes[i], options_.stale_after_s) || row.allocatable.cpu_cores != size.cpu_cores ||
        row.allocatable.memory_bytes != size.memory_bytes)
      return true;
    if (!curves) continue;
    if (fleet_.cpu_wait_price_w > 0 && other_waiting(node.waiting, row.waiting)) return true;
    for (std::size_t k = 0; k < kCurvePoints; ++k)
      if (std::abs(node.watts[k] - row.watts[k]) > options_.change_ratio * row.watts.back()) return true;
  }
  return false;
}

void FleetRows::revise(const ClusterView& view) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].usable = usable(view.nodes[i], options_.stale_after_s);
    rows_[i].watts = fleet_.nodes[i].watts;
    rows_[i].waiting = fleet_.nodes[i].waiting;
    rows_[i].allocatable = size_of(view.nodes[i]);
  }
}

}  // namespace wattle::placement
