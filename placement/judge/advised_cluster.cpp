#include "placement/judge/advised_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

std::uint64_t moved_by(std::uint64_t pods, std::int64_t by) {
  if (by >= 0) return pods + static_cast<std::uint64_t>(by);
  return pods - std::min(pods, static_cast<std::uint64_t>(-by));
}

Resources sum_of(const Resources& a, const Resources& b) {
  return {std::max(0.0, a.cpu_cores + b.cpu_cores), std::max(0.0, a.memory_bytes + b.memory_bytes)};
}

// Pods of a node and their use.
struct NodeLoad {
  std::uint64_t pods = 0;
  double used_cores = 0, used_cores2 = 0;
  bool asleep = false;
};

// Standard deviation of the error of the curve in the difference of power. A sleeping node's power is known.
double error_of(const PowerCurve& curve, const FleetNode& node, const NodeLoad& a, const NodeLoad& b) {
  const double cores = node.allocatable.cpu_cores;
  if (!(cores > 0)) return 0;
  if (a.asleep && b.asleep) return 0;
  if (a.asleep || b.asleep) return curve.watts_sd_w((a.asleep ? b : a).used_cores / cores);
  return curve.difference_sd_w(a.used_cores / cores, b.used_cores / cores);
}

// The power of a node while it sleeps: measured if it does, otherwise between 1% and 10% of the idle power, which a
// suspended server and a powered-off one draw (placement/sleep/transition_cost).
double asleep_w(const NodeView& view, const FleetNode& node) {
  constexpr double kOfIdle = 0.05;
  return view.asleep && view.power_w ? *view.power_w : std::max(node.sleep_w, kOfIdle * node.watts_at(0));
}

void add_load(ClusterLoad& load, const FleetNode& node, const NodeView& view, const NodeLoad& on, bool woke) {
  load.power_w += on.asleep ? asleep_w(view, node) : node.watts_at(on.used_cores);
  if (woke) load.wake_j += std::max(node.wake_j, view.wake_cost_j);
  load.pods += on.pods;
  if (on.pods == 0) return;
  const double cores = node.allocatable.cpu_cores;
  load.waited_pods += static_cast<double>(on.pods) * node.waiting.wait(on.used_cores, on.used_cores2, cores);
}

// A node that sleeps in the cluster has no room there, but has room where it is awake.
FleetNode awake(FleetNode node, const NodeView& view) {
  node.allocatable = size_of(view);
  return node;
}

// The copy's fleet has no change history: the editions are the cluster's. A reader that switches between the two must
// read all nodes.
void stand_alone(Fleet& fleet) {
  fleet.only.clear();
  for (FleetNode& node : fleet.nodes) node.open = true;
  fleet.edition_of.clear();
  fleet.edition = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

void AdvisedCluster::Sum::add(const PodEstimate& ask, int sign) {
  request.cpu_cores += sign * ask.request.cpu_cores;
  request.memory_bytes += sign * ask.request.memory_bytes;
  pods += sign;
  cores += sign * ask.demand_cores;
  cores2 += sign * ask.demand_cores2;
  uncertain_cores += sign * ask.uncertain_cores;
  if (std::isfinite(ask.life_s)) life_s += sign * ask.life_s;
}

// A difference without pods is reset, so that no rounding errors remain.
void AdvisedCluster::count(const Place& place, const PodEstimate& ask, Sum Difference::*sum, int sign, bool listed) {
  Difference& difference = differences_[place.row];
  difference.node = place.node;
  (difference.*sum).add(ask, listed ? sign : -sign);
  if (listed)
    ++difference.pod_count;
  else if (--difference.pod_count == 0)
    differences_.erase(place.row);
}

void AdvisedCluster::count_replica(const std::string& owner, std::size_t row, int sign) {
  if (owner.empty()) return;
  const auto moves = replica_moves_.try_emplace(owner).first;
  if ((moves->second[row] += sign) == 0) moves->second.erase(row);
  if (moves->second.empty()) replica_moves_.erase(moves);
}

void AdvisedCluster::list(const std::string& uid, const Pod& pod, bool listed) {
  if (!pod.runs || displaced(pod)) count_replica(pod.owner, pod.advised.row, listed ? 1 : -1);
  if (displaced(pod)) count_replica(pod.owner, pod.runs->row, listed ? -1 : 1);
  if (!pod.runs) {
    count(pod.advised, pod.ask, &Difference::expected, 1, listed);
    if (listed)
      expected_.emplace(pod.until, uid);
    else
      expected_.erase({pod.until, uid});
  } else if (displaced(pod)) {
    count(pod.advised, pod.ask, &Difference::running, 1, listed);
    count(*pod.runs, pod.ask, &Difference::running, -1, listed);
    displaced_ = listed ? displaced_ + 1 : displaced_ - 1;
  }
}

void AdvisedCluster::advise(const std::string& uid, Place place, const PodEstimate& ask, MonoTime now, Duration hold,
                            const std::string& owner) {
  ended(uid);
  if (uid.empty() || pods_.size() >= options_.max_pods) return;
  starts_.hold(uid, place.node, now + std::max(options_.unseen, options_.start_window));
  const auto pod =
      pods_.emplace(uid, Pod{std::move(place), std::nullopt, ask, now + std::max(options_.unseen, hold), owner}).first;
  list(uid, pod->second, true);
}

void AdvisedCluster::keep(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.runs) return;
  list(uid, found->second, false);
  found->second.until = MonoTime::max();
  list(uid, found->second, true);
}

void AdvisedCluster::withdraw(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.runs) return;
  starts_.drop(uid);
  ended(uid);
}

void AdvisedCluster::placed(const std::string& uid, Place place, MonoTime now) {
  const auto found = pods_.find(uid);
  starts_.hold(uid, found != pods_.end() ? found->second.advised.node : place.node, now + options_.start_window);
  if (found == pods_.end()) return;
  list(uid, found->second, false);
  found->second.runs = std::move(place);
  list(uid, found->second, true);
}

void AdvisedCluster::learned(const std::string& uid, const PodEstimate& ask) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  const auto change = [&](std::size_t row, Sum Difference::*sum, int sign) {
    Sum& changed = differences_.find(row)->second.*sum;
    changed.add(pod.ask, -sign);
    changed.add(ask, sign);
  };
  if (!pod.runs) {
    change(pod.advised.row, &Difference::expected, 1);
  } else if (displaced(pod)) {
    change(pod.advised.row, &Difference::running, 1);
    change(pod.runs->row, &Difference::running, -1);
  }
  pod.ask = ask;
}

void AdvisedCluster::ended(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  list(uid, found->second, false);
  pods_.erase(found);
}

std::vector<AdvisedCluster::Added> AdvisedCluster::added(std::size_t rows) const {
  std::vector<Added> all(rows);
  for (const auto& [row, difference] : differences_) {
    const Sum &running = difference.running, &expected = difference.expected;
    if (row < rows)
      all[row] = {{running.request.cpu_cores + expected.request.cpu_cores,
                   running.request.memory_bytes + expected.request.memory_bytes},
                  running.pods + expected.pods};
  }
  return all;
}

bool AdvisedCluster::displaced(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found != pods_.end() && displaced(found->second);
}

void AdvisedCluster::expire(const ClusterView& view, MonoTime now) {
  starts_.expire(now);
  while (!expected_.empty() && expected_.begin()->first <= now) withdraw(std::string(expected_.begin()->second));
  const auto another = [&](std::size_t row, const std::string& node) {
    return row >= view.nodes.size() || view.nodes[row].name != node;
  };
  const bool all_there = std::none_of(differences_.begin(), differences_.end(),
                                      [&](const auto& each) { return another(each.first, each.second.node); });
  if (all_there) return;
  for (auto& [uid, pod] : pods_) {
    if (!another(pod.advised.row, pod.advised.node)) continue;
    list(uid, pod, false);
    if (pod.runs) pod.advised = *pod.runs;
    list(uid, pod, true);
  }
  std::vector<std::string> nowhere;
  for (const auto& [since, uid] : expected_)
    if (const Place& place = pods_.at(uid).advised; another(place.row, place.node)) nowhere.push_back(uid);
  for (const std::string& uid : nowhere) withdraw(uid);
}

FleetNode AdvisedCluster::changed(const Fleet& fleet, std::size_t row, const Difference& difference, bool expected) {
  FleetNode node = fleet.nodes[row];
  // The mean lifetime that matches the expected end, so that updates can continue from it.
  const double one_s = last_ends_in_s(1, node.pods), left_s = node.empties_at_s - fleet.now_s;
  double life_s =
      one_s > 0 && std::isfinite(left_s) && left_s > 0 ? left_s / one_s * static_cast<double>(node.pods) : 0;
  const auto add = [&](const Sum& sum) {
    node.requested = sum_of(node.requested, sum.request);
    node.pods = moved_by(node.pods, sum.pods);
    node.used_cores = std::max(0.0, node.used_cores + sum.cores);
    node.used_cores2 = std::max(0.0, node.used_cores2 + sum.cores2);
    node.uncertain_cores = std::max(0.0, node.uncertain_cores + sum.uncertain_cores);
    life_s = std::max(0.0, life_s + sum.life_s);
  };
  add(difference.running);
  if (expected) add(difference.expected);
  node.sleeps = fleet.idle_nodes_sleep && node.pods == 0;
  node.empties_at_s = fleet.now_s;
  if (node.pods > 0) node.empties_at_s += last_ends_in_s(life_s / static_cast<double>(node.pods), node.pods);
  return node;
}

void AdvisedCluster::show_running(NodeView& seen, const Sum& running, bool sleeps) {
  seen.requested = sum_of(seen.requested, running.request);
  seen.pods = moved_by(seen.pods, running.pods);
  seen.asleep = sleeps;
  if (seen.values.cpu_used_cores)
    seen.values.cpu_used_cores = std::max(0.0, *seen.values.cpu_used_cores + running.cores);
}

void AdvisedCluster::show(std::size_t row, const Difference& difference) {
  copy_.fleet.nodes[row] = changed(copy_.fleet, row, difference, true);
  NodeView& seen = copy_.view.nodes[row];
  FleetNode& node = copy_.fleet.nodes[row];
  show_running(seen, difference.running, node.sleeps);
  if (node.sleeps) node.wake_j = std::max(node.wake_j, seen.wake_cost_j);  // even if it sleeps only in the copy
  seen.in_flight = moved_by(seen.in_flight, difference.expected.pods);
  seen.in_flight_request = sum_of(seen.in_flight_request, difference.expected.request);
  seen.starts = starts_.count(seen.name);
  shown_.push_back(row);
}

AdvisedCluster::Copy AdvisedCluster::without(const ClusterView& view, const Fleet& fleet, std::size_t row,
                                             const PodEstimate& ask) {
  Copy copy{view, fleet};
  stand_alone(copy.fleet);
  Difference gone;
  gone.running.add(ask, -1);
  copy.fleet.nodes[row] = changed(copy.fleet, row, gone, false);
  NodeView& seen = copy.view.nodes[row];
  show_running(seen, gone.running, copy.fleet.nodes[row].sleeps);
  seen.same_app_pods = moved_by(seen.same_app_pods, -1);
  return copy;
}

AdvisedCluster::Copy& AdvisedCluster::copy(const ClusterView& view, const Fleet& fleet, const std::string& owner) {
  const std::size_t n = view.nodes.size();
  const bool reported = view.edition_of.size() == n && copy_.view.nodes.size() == n;
  if (reported) {
    for (const std::size_t row : shown_) copy_.view.nodes[row] = view.nodes[row];
    for (std::size_t row = 0; row < n; ++row) {
      if (view.edition_of[row] > copied_) {
        copy_.view.nodes[row] = view.nodes[row];
      } else {
        copy_.view.nodes[row].telemetry_age = view.nodes[row].telemetry_age;
        copy_.view.nodes[row].same_app_pods = view.nodes[row].same_app_pods;
        copy_.view.nodes[row].owner_pods = view.nodes[row].owner_pods;
      }
    }
  } else {
    copy_.view.nodes = view.nodes;
  }
  shown_.clear();
  copied_ = view.edition;
  copy_.view.now = view.now;
  copy_.view.pending_pods = view.pending_pods;
  copy_.fleet = fleet;
  stand_alone(copy_.fleet);
  for (const auto& [row, difference] : differences_)
    if (row < n) show(row, difference);
  if (const auto moves = replica_moves_.find(owner); moves != replica_moves_.end())
    for (const auto& [row, by] : moves->second)
      if (row < n) copy_.view.nodes[row].owner_pods = moved_by(copy_.view.nodes[row].owner_pods, by);
  return copy_;
}

bool AdvisedCluster::rested(const FleetNode& node, const NodeView& view, Seen& seen, MonoTime now) {
  if (!seen.empty_since) seen.empty_since = now;
  if (!(view.wake_cost_j > 0)) return false;
  const double saved_w = node.watts_at(0) - asleep_w(view, node);
  return seen.advised_asleep || seconds(now - *seen.empty_since) * saved_w >= view.wake_cost_j;
}

ComparedLoad AdvisedCluster::compare(const ClusterView& view, const Fleet& fleet) {
  const std::size_t n = fleet.nodes.size();
  seen_.resize(n);
  ComparedLoad load;
  load.advised_pods = pods_.size() - expected_.size();
  load.displaced_pods = displaced_;
  std::vector<NodeLoad> all(n);
  std::size_t spares = 0;  // empty nodes that stay awake in the cluster, and have pods in the copy
  for (std::size_t row = 0; row < n; ++row) {
    const auto difference = differences_.find(row);
    const FleetNode& node = fleet.nodes[row];
    NodeLoad& advised = all[row] = {node.pods, node.used_cores, node.used_cores2, false};
    if (difference == differences_.end()) continue;
    const Sum& moved = difference->second.running;
    advised = {moved_by(node.pods, moved.pods), std::max(0.0, node.used_cores + moved.cores),
               std::max(0.0, node.used_cores2 + moved.cores2), false};
    if (node.pods == 0 && advised.pods > 0 && !view.nodes[row].asleep && view.nodes[row].wake_cost_j > 0) ++spares;
  }
  double variance = 0;
  for (std::size_t row = 0; row < n; ++row) {
    const FleetNode& node = fleet.nodes[row];
    const NodeView& seen = view.nodes[row];
    Seen& last = seen_[row];
    const bool first = last.node != seen.name;
    if (first) last = {seen.name, false, false, {}};
    const NodeLoad now{node.pods, node.used_cores, node.used_cores2, seen.asleep && node.pods == 0};
    NodeLoad& advised = all[row];
    const bool alone = advised.pods == 0 && node.pods > 0;
    if (!alone) last.empty_since.reset();
    if (!alone) {
      advised.asleep = advised.pods == 0 && now.asleep;
    } else if (rested(node, seen, last, view.now)) {
      advised.asleep = spares == 0;
      spares -= std::min<std::size_t>(spares, 1);
    }
    advised.asleep = advised.asleep && !options_.all_awake;
    if (differences_.contains(row) || now.asleep != advised.asleep) {
      const double error_w = error_of(seen.curve, node, now, advised);
      variance += error_w * error_w;
    }
    // A node that is empty only in the copy, and no longer sleeps there, has not woken: it is now a spare.
    add_load(load.now, node, seen, now, !first && last.now_asleep && !now.asleep);
    add_load(load.advised, now.asleep && !advised.asleep ? awake(node, seen) : node, seen, advised,
             !first && !alone && last.advised_asleep && !advised.asleep);
    if (now.asleep && !advised.asleep) load.asleep_w += node.watts_at(0) - asleep_w(seen, node);
    if (now.asleep || seen.wake_cost_j > 0) load.may_sleep_ratio += 1 / static_cast<double>(n);
    last.now_asleep = now.asleep;
    last.advised_asleep = advised.asleep;
  }
  load.error_w = std::sqrt(variance);
  return load;
}

}  // namespace wattle::placement
