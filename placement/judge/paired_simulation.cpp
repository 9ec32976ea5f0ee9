#include "placement/judge/paired_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/plan/pair_cost.hpp"
#include "placement/worth/objective.hpp"

namespace wattle::placement {

namespace {

constexpr double kLeastLife_s = 60;

double life_of(const Fleet& fleet, const PodEstimate& ask) {
  if (fleet.pods_stay || !std::isfinite(ask.life_s)) return std::max(fleet.hold_s, kLeastLife_s);
  return std::max(ask.life_s, kLeastLife_s);
}

// Latency term of the pod's users on the node, as in live decisions and outcomes.
double latency_points(const PairedQuestion& question, std::size_t node) {
  const PodSpec& pod = question.pod;
  return latency_term(latency_for(question.view.nodes[node], pod), pod.latency_soft_ms, pod.latency_hard_ms);
}

}  // namespace

double PairedSimulation::node_w(const Side& side, std::size_t i) {
  const FleetNode& node = side.fleet.nodes[i];
  if (side.fleet.idle_nodes_sleep && side.loads[i].pods == 0) return node.sleep_w;
  return node_cost_w(node, side.loads[i].used_cores, side.loads[i].used_cores2, side.fleet.cpu_wait_price_w);
}

// Applies the current state of the cluster's nodes to the copy, with the copy's own pods.
void PairedSimulation::show(Side& side, const PairedQuestion& question) {
  side.unseen = &question;
  side.fleet = question.fleet;
  side.fleet.only.clear();
  side.fleet.edition_of.clear();  // they belong to the cluster, not to the copy
  side.power_w = side.extra_w;
  for (std::size_t i = 0; i < side.loads.size(); ++i) {
    const Side::Load& load = side.loads[i];
    FleetNode& node = side.fleet.nodes[i];
    node.used_cores = load.used_cores;
    node.used_cores2 = load.used_cores2;
    node.pods = load.pods;
    node.requested = load.requested;
    node.sleeps = side.fleet.idle_nodes_sleep && load.pods == 0;
    node.empties_at_s = load.empties_at_s;
    node.apps = &load.apps;
    side.power_w += node_w(side, i);
  }
}

const ClusterView& PairedCopy::view() {
  if (unseen == nullptr) return view_;
  const PairedQuestion& question = *std::exchange(unseen, nullptr);
  view_ = question.view;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Load& load = loads[i];
    NodeView& seen = view_.nodes[i];
    seen.pods = load.pods;
    seen.requested = load.requested;
    seen.asleep = fleet.nodes[i].sleeps;
    seen.in_flight = seen.starts = seen.unsettled = 0;
    seen.in_flight_request = {};
    seen.unsettled_cpu_cores = 0;
    const double other_cores = load.used_cores - question.fleet.nodes[i].used_cores;
    if (seen.values.cpu_used_cores)
      seen.values.cpu_used_cores = std::max(0.0, *seen.values.cpu_used_cores + other_cores);
  }
  return view_;
}

void PairedSimulation::begin(const PairedQuestion& question) {
  begun_ = true;
  asked_ = 0;
  pods_.clear();
  unseen_ = 0;
  now_s_ = swept_s_ = block_began_s_ = question.fleet.now_s;
  challenger_.joules = challenger_.extra_w = 0;
  challenger_.loads.clear();
  for (std::size_t i = 0; i < question.fleet.nodes.size(); ++i) {
    const FleetNode& node = question.fleet.nodes[i];
    const NodeView& seen = question.view.nodes[i];  // without pods in flight, which are reported when they run
    Side::Load load{seen.requested, seen.pods, node.used_cores, node.used_cores2, 0, node.empties_at_s, {}};
    if (node.apps != nullptr) load.apps = *node.apps;
    // The mean lifetime that matches the expected end, so that updates can continue from it.
    const double one_s = last_ends_in_s(1, load.pods);
    const double left_s = node.empties_at_s - now_s_;
    if (one_s > 0 && std::isfinite(left_s) && left_s > 0) load.life_s = left_s / one_s * static_cast<double>(load.pods);
    challenger_.loads.push_back(load);
  }
  incumbent_.loads = challenger_.loads;
  incumbent_.joules = incumbent_.extra_w = 0;
}

void PairedSimulation::advance(double now_s) {
  if (!(now_s > now_s_)) return;
  challenger_.joules += challenger_.power_w * (now_s - now_s_);
  incumbent_.joules += incumbent_.power_w * (now_s - now_s_);
  now_s_ = now_s;
}

void PairedSimulation::change(Side& side, const Placed& placed, const PodEstimate& ask, bool comes) {
  const std::size_t i = placed.node;
  Side::Load& load = side.loads[i];
  const double before_w = node_w(side, i), life_s = life_of(side.fleet, ask), sign = comes ? 1 : -1;
  if (comes && load.pods == 0 && side.fleet.idle_nodes_sleep) side.joules += side.fleet.nodes[i].wake_j;
  load.pods = comes ? load.pods + 1 : load.pods - std::min<std::uint64_t>(load.pods, 1);
  const auto moved = [&](double sum, double by) { return load.pods == 0 ? 0.0 : std::max(0.0, sum + sign * by); };
  load.requested.cpu_cores = std::max(0.0, load.requested.cpu_cores + sign * ask.request.cpu_cores);
  load.requested.memory_bytes = std::max(0.0, load.requested.memory_bytes + sign * ask.request.memory_bytes);
  load.used_cores = std::max(0.0, load.used_cores + sign * ask.demand_cores);
  load.used_cores2 = std::max(0.0, load.used_cores2 + sign * ask.demand_cores2);
  load.apps.add(ask.app, ask.request.cpu_cores, ask.demand_cores, comes ? 1 : -1);
  load.life_s = moved(load.life_s, life_s);
  if (load.pods == 0)
    load.empties_at_s = now_s_;
  else
    load.empties_at_s = now_s_ + last_ends_in_s(load.life_s / static_cast<double>(load.pods), load.pods);
  const double was_w = side.extra_w;
  side.extra_w = std::max(0.0, was_w + sign * placed.extra_w);
  side.power_w += node_w(side, i) - before_w + side.extra_w - was_w;
}

void PairedSimulation::placed(std::uint64_t key, std::size_t node, const PodEstimate& ask, double now_s) {
  if (!begun_ || node >= challenger_.loads.size()) return;
  if (const auto known = pods_.find(key); known != pods_.end()) {
    if (!std::exchange(known->second.seen, true)) --unseen_;
    return;
  }
  advance(now_s);
  change(challenger_, {node, 0}, ask, true);
  change(incumbent_, {node, 0}, ask, true);
  pods_[key] = {{node, 0}, {node, 0}, ask, now_s, true};
}

bool PairedSimulation::ended(std::uint64_t key, double now_s) {
  const auto known = pods_.find(key);
  if (!begun_ || known == pods_.end()) return false;
  advance(now_s);
  change(challenger_, known->second.by_challenger, known->second.ask, false);
  change(incumbent_, known->second.by_incumbent, known->second.ask, false);
  if (!known->second.seen) --unseen_;
  pods_.erase(known);
  return true;
}

void PairedSimulation::ended_there(std::size_t node, const PodEstimate& ask, double now_s) {
  if (!begun_ || node >= challenger_.loads.size()) return;
  advance(now_s);
  change(challenger_, {node, 0}, ask, false);
  change(incumbent_, {node, 0}, ask, false);
}

void PairedSimulation::forget_unseen(double now_s) {
  if (now_s < swept_s_ + options_.unseen_s / 4) return;
  swept_s_ = now_s;
  if (unseen_ == 0) return;
  std::vector<std::uint64_t> unseen;
  for (const auto& [key, pod] : pods_)
    if (!pod.seen && now_s > pod.since_s + options_.unseen_s) unseen.push_back(key);
  for (const std::uint64_t key : unseen) ended(key, now_s);
}

std::optional<PairedSimulation::Placed> PairedSimulation::choose(Side& side, const PairedQuestion& question,
                                                                 const PairedRule& rule) {
  side.masked.clear();
  for (FleetNode& node : side.fleet.nodes) node.open = false;
  for (const std::size_t i : question.rows) {
    const Side::Load& load = side.loads[i];
    side.masked.push_back(
        mask_reason(question.view.nodes[i], {load.requested, load.pods, 0}, question.pod, question.mask));
  }
  // Replicas count where they run in the cluster: the copies have no owners.
  add_soft_masks(question.view, question.rows, question.pod, question.mask.owner_share, side.masked);
  for (std::size_t k = 0; k < question.rows.size(); ++k)
    side.fleet.nodes[question.rows[k]].open = side.masked[k].empty();
  const std::optional<std::size_t> node = rule(side);
  side.unseen = nullptr;
  if (!node) return std::nullopt;
  Placed placed{*node, added_pair_w(side.fleet, *node, question.ask)};
  if (question.latency_price_w > 0) {
    // Compares with the best node of the question: a latency that is unknown or equal everywhere costs nothing.
    double best = latency_points(question, *node);
    for (const std::size_t i : question.rows) best = std::max(best, latency_points(question, i));
    placed.extra_w += question.latency_price_w * (best - latency_points(question, *node));
  }
  return placed;
}

std::optional<double> PairedSimulation::play(const PairedQuestion& question, const PairedRule& challenger,
                                             const PairedRule& incumbent) {
  const bool others = begun_ && challenger_.loads.size() != question.fleet.nodes.size();
  if (!begun_ || others || pods_.size() >= options_.max_pods) begin(question);
  advance(question.fleet.now_s);
  // A pod that is requested again, or already runs, is removed from both copies first.
  std::optional<Pod> before;
  if (const auto known = pods_.find(question.key); known != pods_.end()) before = known->second;
  ended(question.key, now_s_);
  forget_unseen(now_s_);
  show(challenger_, question);
  show(incumbent_, question);
  const auto theirs = choose(incumbent_, question, incumbent);
  const auto own = theirs ? choose(challenger_, question, challenger) : std::nullopt;
  if (!own && !before) return std::nullopt;
  const Pod now = own ? Pod{*own, *theirs, question.ask, now_s_, before && before->seen} : *before;
  change(challenger_, now.by_challenger, now.ask, true);
  change(incumbent_, now.by_incumbent, now.ask, true);
  pods_[question.key] = now;
  if (!now.seen) ++unseen_;
  const double larger_j = std::max(challenger_.joules, incumbent_.joules);
  if (!own || ++asked_ < options_.block || !(larger_j > 0)) return std::nullopt;
  const double difference = (challenger_.joules - incumbent_.joules) / larger_j;
  asked_ = 0;
  challenger_.joules = incumbent_.joules = 0;
  block_s_ = now_s_ - std::exchange(block_began_s_, now_s_);
  return std::isfinite(difference) ? std::optional(std::clamp(difference, -1.0, 1.0)) : std::nullopt;
}

}  // namespace wattle::placement
