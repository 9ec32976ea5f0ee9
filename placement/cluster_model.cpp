#include "placement/cluster_model.hpp"

#include <algorithm>
#include <cmath>

#include "placement/features.hpp"

namespace wattle::placement {

namespace {

constexpr double kHour_s = 3600;
constexpr double kUseMemory_s = 300;    // of what a node uses beside its pods
constexpr double kRequestMemory = 200;  // pods
constexpr double kAtOnce_s = 5;         // between revisions that cannot wait
constexpr double kDay_s = 86'400;
constexpr double kUnknownCores = 16;
constexpr double kUnknownBytes = 1e18;
constexpr double kMostCores = 1e6, kMostBytes = 1e18, kMostJoules = 1e12;  // of anything that a view says
constexpr std::size_t kLifeExpectations = 50;
constexpr std::size_t kMaxKnownNodes = 100'000;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// What a view says in no number, or in an absurd one, must not reach a plan.
double sane(double value, double most) { return std::isfinite(value) ? std::clamp(value, 0.0, most) : 0.0; }

Resources sane(const Resources& value) {
  return {sane(value.cpu_cores, kMostCores), sane(value.memory_bytes, kMostBytes)};
}

// Sizes that nobody told do not keep a node from being used.
Resources size_of(const NodeView& node) {
  Resources size = sane(node.allocatable);
  if (!(size.cpu_cores > 0)) size.cpu_cores = sane(node.values.cpu_cores.value_or(kUnknownCores), kMostCores);
  if (!(size.cpu_cores > 0)) size.cpu_cores = kUnknownCores;
  if (!(size.memory_bytes > 0)) size.memory_bytes = kUnknownBytes;
  return size;
}

bool usable(const NodeView& node, double stale_after_s) {
  return node.ready && node.telemetry_age && seconds(*node.telemetry_age) <= stale_after_s;
}

// What changes from ask to ask.
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

ClusterModel::ClusterModel(ClusterModelOptions options)
    : options_(options), demand_(options.demand), forecast_(options.forecast) {
  fleet_.pods_stay = false;
  fleet_.revision = 1;
}

double ClusterModel::Running::expected_cores() const {
  return (kHour_s * predicted_cores + seen_core_s) / (kHour_s + seen_s);
}

void ClusterModel::add(const Running& running, double sign) {
  Known& known = known_[running.node];
  if (sign > 0)
    ++known.pods;
  else
    --known.pods;
  known.pods_cores += sign * running.expected_cores();
  known.last_cores += sign * running.last_cores;
  known.life_s += sign * running.predicted_life_s;
  if (known.pods == 0) known.pods_cores = known.last_cores = known.life_s = 0;  // no rounding is left behind
  touch(known);
}

void ClusterModel::touch(const Known& known) {
  if (known.row != kNoRow && touched_.size() < rows_.size()) touched_.push_back(known.row);
}

void ClusterModel::report(const Running& running) {
  if (running.seen_s > 0)
    demand_.observe(running.app, running.request, running.seen_core_s / running.seen_s, running.seen_s);
}

void ClusterModel::placed(const PodSpec& pod, const std::string& node, MonoTime now) {
  if (pod.daemonset || pod.uid.empty() || pods_.contains(pod.uid) || pods_.size() >= options_.max_pods) return;
  if (known_.size() >= kMaxKnownNodes && !known_.contains(node)) return;
  Running running;
  running.app = app_key_of(pod.app);
  running.request = pod.request;
  running.node = node;
  running.since = now;
  const DemandPrediction predicted = demand_.predict(running.app, pod.request);
  running.predicted_cores = predicted.cores;
  running.predicted_life_s = predicted.life_s;
  add(running, 1);
  pods_.emplace(pod.uid, std::move(running));
  forecast_.came(pod.request.cpu_cores);
  request_weight_ = std::min(request_weight_ + 1, kRequestMemory);
  Resources& mean = fleet_.mean_request;
  const Resources request = sane(pod.request);
  mean.cpu_cores += (request.cpu_cores - mean.cpu_cores) / request_weight_;
  mean.memory_bytes += (request.memory_bytes - mean.memory_bytes) / request_weight_;
}

void ClusterModel::used(const std::string& uid, double cores, double interval_s) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !std::isfinite(cores) || cores < 0 || !std::isfinite(interval_s) || interval_s <= 0)
    return;
  Running& running = found->second;
  add(running, -1);
  running.seen_core_s += cores * interval_s;
  running.seen_s += interval_s;
  running.last_cores = cores;
  add(running, 1);
  // The first hour counts once; a pod that ends sooner tells then.
  if (!running.reported && running.seen_s >= kHour_s) {
    running.reported = true;
    report(running);
  }
  if (running.seen_s - running.told_life_s < kHour_s) return;
  demand_.observe_life(running.app, running.seen_s - running.told_life_s, false);
  running.told_life_s = running.seen_s;
}

void ClusterModel::gone(const std::string& uid, MonoTime now) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Running& running = found->second;
  add(running, -1);
  if (!running.reported) report(running);
  demand_.observe_life(running.app, std::max(1.0, seconds(now - running.since) - running.told_life_s), true);
  forecast_.went(running.request.cpu_cores);
  pods_.erase(found);
}

bool ClusterModel::same_nodes(const ClusterView& view) const {
  if (rows_.size() != view.nodes.size()) return false;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].name != view.nodes[i].name) return false;
  return true;
}

void ClusterModel::list_nodes(const ClusterView& view) {
  for (auto& [name, known] : known_) known.row = kNoRow;
  rows_.clear();
  fleet_.nodes.assign(view.nodes.size(), {});
  fleet_.only.clear();
  for (const NodeView& node : view.nodes) {
    Known& known = known_[node.name];
    known.row = rows_.size();
    rows_.push_back({node.name, &known, false, {}, {}});
  }
}

// What nodes use beside their pods. A node whose pods nobody told of uses all of it that way.
void ClusterModel::follow(const ClusterView& view, double passed_s) {
  const double share = 1 - std::exp(-passed_s / kUseMemory_s);
  double requested_cores = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const NodeView& node = view.nodes[i];
    Known& known = *rows_[i].known;
    requested_cores += node.requested.cpu_cores;
    const auto used_cores = node.values.cpu_used_cores;
    if (!used_cores || !std::isfinite(*used_cores)) continue;
    const double other_cores = std::max(0.0, *used_cores - known.last_cores);
    known.other_cores += (known.heard ? share : 1.0) * (other_cores - known.other_cores);
    known.heard = true;
  }
  forecast_.sample(requested_cores, seconds(view.now.time_since_epoch()));
}

void ClusterModel::refresh(const ClusterView& view) {
  const bool fresh = !same_nodes(view);
  if (fresh) list_nodes(view);
  const double passed_s = refreshed_ ? std::max(0.0, seconds(view.now - *refreshed_)) : 0.0;
  refreshed_ = view.now;
  follow(view, passed_s);
  for (std::size_t i = 0; i < rows_.size(); ++i) fleet_.nodes[i].watts = view.nodes[i].curve.points();
  fill(view);
  revise(view, fresh);
}

void ClusterModel::revise(const ClusterView& view, bool must) {
  const double since_s = revised_ ? seconds(view.now - *revised_) : options_.revise_every_s;
  const bool due = since_s >= options_.revise_every_s;
  if (!must && !due && since_s < kAtOnce_s) return;
  bool moved = must;
  for (std::size_t i = 0; i < rows_.size() && !moved; ++i) {
    const Row& row = rows_[i];
    const Resources size = size_of(view.nodes[i]);
    moved = row.usable != usable(view.nodes[i], options_.stale_after_s) ||
            row.allocatable.cpu_cores != size.cpu_cores || row.allocatable.memory_bytes != size.memory_bytes;
    const auto& watts = fleet_.nodes[i].watts;
    for (std::size_t k = 0; due && !moved && k < kCurvePoints; ++k)
      moved = std::abs(watts[k] - row.watts[k]) > options_.change_ratio * row.watts.back();
  }
  std::vector<double> cores = fleet_.expected_cores, demand = fleet_.expected_demand;
  if (due || must) {
    double capacity_cores = 0;
    for (const NodeView& node : view.nodes)
      if (usable(node, options_.stale_after_s)) capacity_cores += size_of(node).cpu_cores;
    cores = forecast_.expected_cores(capacity_cores);
    demand = demand_.expected_demand(kLifeExpectations);
    const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return a.empty() != b.empty() ||
             std::abs(mean_of(a) - mean_of(b)) > options_.change_ratio * std::max(mean_of(a), mean_of(b));
    };
    moved = moved || fleet_.pods_stay != forecast_.pods_stay() || apart(cores, fleet_.expected_cores) ||
            apart(demand, fleet_.expected_demand);
  }
  if (due) revised_ = view.now;
  if (!moved) return;
  revised_ = view.now;
  fleet_.expected_cores = std::move(cores);
  fleet_.expected_demand = std::move(demand);
  fleet_.pods_stay = forecast_.pods_stay();
  fleet_.hold_s = fleet_.pods_stay ? kDay_s : demand_.predict({}, {1, 0}).life_s;
  cores_per_request_ = demand_.predict({}, {1, 0}).cores;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].usable = usable(view.nodes[i], options_.stale_after_s);
    rows_[i].watts = fleet_.nodes[i].watts;
    rows_[i].allocatable = size_of(view.nodes[i]);
  }
  fill(view);
  ++fleet_.revision;
}

void ClusterModel::fill_row(const ClusterView& view, std::size_t row) {
  const NodeView& node = view.nodes[row];
  FleetNode& out = fleet_.nodes[row];
  const Known& known = *rows_[row].known;
  fill_node(out, node, rows_[row].usable);
  out.used_cores = sane(known.pods_cores + known.other_cores + cores_per_request_ * node.in_flight_request.cpu_cores +
                            (known.pods == 0 ? node.unsettled_cpu_cores : 0.0),
                        kMostCores);
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

// As fill(), where the view tells what changed. Time goes on with the next refresh.
void ClusterModel::update(const ClusterView& view) {
  if (view.edition_of.empty() || rows_.size() != view.nodes.size()) {
    if (same_nodes(view))
      fill(view);
    else
      refresh(view);
    return;
  }
  bool all = touched_.size() >= rows_.size();  // it holds no more
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (view.edition_of[row] <= filled_) continue;
    if (rows_[row].name != view.nodes[row].name) return refresh(view);
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
  if (!fleet_.only.empty())
    for (FleetNode& node : fleet_.nodes) node.open = true;
  fleet_.only.clear();
  return fleet_;
}

Fleet& ClusterModel::fleet(const ClusterView& view, std::vector<std::size_t> only) {
  update(view);
  if (fleet_.only.empty()) {
    for (FleetNode& node : fleet_.nodes) node.open = false;
  } else {
    for (const std::size_t row : fleet_.only) fleet_.nodes[row].open = false;
  }
  for (const std::size_t row : only) fleet_.nodes[row].open = true;
  fleet_.only = std::move(only);
  return fleet_;
}

DemandPrediction ClusterModel::predict(const PodSpec& pod) const {
  return demand_.predict(app_key_of(pod.app), pod.request);
}

PodEstimate ClusterModel::ask(const PodSpec& pod) const {
  const DemandPrediction predicted = predict(pod);
  return {sane(pod.request), sane(predicted.cores, kMostCores), fleet_.pods_stay ? kDay_s : predicted.life_s};
}

const PowerCurve* ClusterModel::kept_curve(const std::string& node) const {
  const auto kept = kept_curves_.find(node);
  return kept != kept_curves_.end() ? &kept->second : nullptr;
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
    out.sleeps = node.asleep;
    out.wake_j = sane(node.wake_cost_j, kMostJoules);
    fleet.idle_nodes_sleep = fleet.idle_nodes_sleep || node.asleep;
  }
  return fleet;
}

PodEstimate ask_of(const PodSpec& pod) { return {sane(pod.request), sane(demand_cores(pod), kMostCores), kHour_s}; }

}  // namespace wattle::placement
