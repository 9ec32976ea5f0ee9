#include "placement/twins.hpp"

#include <algorithm>
#include <cmath>

#include "placement/network_rule.hpp"

namespace wattle::placement {

namespace {

constexpr double kLeastLife_s = 60;

double life_of(const Fleet& fleet, const Ask& ask) {
  if (fleet.pods_stay || !std::isfinite(ask.life_s)) return std::max(fleet.hold_s, kLeastLife_s);
  return std::max(ask.life_s, kLeastLife_s);
}

}  // namespace

void Twins::Side::put(std::size_t i, const Ask& ask) {
  FleetNode& node = fleet.nodes[i];
  const double life_s = life_of(fleet, ask);
  joules += (node.watts_at(node.used_cores + ask.demand_cores) - node.watts_at(node.used_cores)) * life_s;
  if (fleet.idle_nodes_sleep) {
    if (node.sleeps) joules += node.wake_j;
    double awake_s = node.pods == 0 ? 0.0 : fleet.pods_stay ? life_s : std::max(0.0, node.empties_at_s - fleet.now_s);
    if (!std::isfinite(awake_s)) awake_s = life_s;
    const double later_s =
        fleet.pods_stay ? std::max(awake_s, life_s) : awake_s + life_s - awake_s * life_s / (awake_s + life_s);
    joules += (node.idle_w() - node.sleep_w) * (later_s - awake_s);
    node.empties_at_s = fleet.now_s + later_s;
  }
  node.sleeps = false;
  ++node.pods;
  node.requested.cpu_cores += ask.request.cpu_cores;
  node.requested.memory_bytes += ask.request.memory_bytes;
  node.used_cores += ask.demand_cores;
  NodeView& seen = view.nodes[i];
  seen.asleep = false;
  ++seen.pods;
  seen.requested.cpu_cores += ask.request.cpu_cores;
  seen.requested.memory_bytes += ask.request.memory_bytes;
  if (seen.values.cpu_used_cores) *seen.values.cpu_used_cores += ask.demand_cores;
}

std::optional<std::size_t> Twins::choose(Side& side, const TwinQuestion& question, Planner& planner, bool by_network) {
  masked_.clear();
  for (FleetNode& node : side.fleet.nodes) node.open = false;
  for (const std::size_t i : question.rows) {
    masked_.push_back(mask_reason(side.view.nodes[i], question.pod, question.mask));
    side.fleet.nodes[i].open = masked_.back().empty();
  }
  const PlanView plan = planner.view(side.fleet, question.ask, question.rows);
  if (plan.nodes.empty() || !plan.pick) return std::nullopt;
  if (!by_network) {
    double sum_w = 0, count = 0;
    for (const std::size_t i : question.rows) {
      if (!side.fleet.nodes[i].open) continue;
      sum_w += amortised_w(side.fleet.nodes[i], question.ask);
      count += 1;
    }
    average_j_ += sum_w / std::max(count, 1.0) * life_of(side.fleet, question.ask);
    return plan.pick;
  }
  const auto predictions = predict(question.reward, side.view, question.rows, question.pod, plan.demand_cores);
  const models::Observation seen =
      observe(side.view, question.rows, question.pod, masked_, predictions, question.reward, &plan);
  residual_.assign(seen.nodes, 0.0F);
  question.network.residual(seen, residual_);
  const auto kept = std::find(question.rows.begin(), question.rows.end(), *plan.pick);
  const auto row = best_node(seen, residual_, static_cast<std::size_t>(kept - question.rows.begin()), question.margin);
  return row ? std::optional(question.rows[*row]) : std::nullopt;
}

std::optional<double> Twins::play(const TwinQuestion& question, Planner& planner) {
  if (pods_ == 0 || network_.view.nodes.size() != question.view.nodes.size()) {
    network_ = {question.view, question.fleet, 0};
    planner_ = network_;
    average_j_ = 0;
    pods_ = 0;
  }
  const auto theirs = choose(planner_, question, planner, false);
  const auto own = theirs ? choose(network_, question, planner, true) : std::nullopt;
  if (!own) {
    pods_ = 0;
    return std::nullopt;
  }
  planner_.put(*theirs, question.ask);
  network_.put(*own, question.ask);
  if (++pods_ < block_) return std::nullopt;
  pods_ = 0;
  if (!(average_j_ > 0)) return std::nullopt;
  const double difference = (network_.joules - planner_.joules) / average_j_;
  return std::isfinite(difference) ? std::optional(std::clamp(difference, -1.0, 1.0)) : std::nullopt;
}

}  // namespace wattle::placement
