#include "placement/planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wattle::placement {

namespace {

constexpr double kTail = Plan::kTail;
constexpr double kMostPods = 1e9;
// What the plan would rather not have, in W0: another open node, the one whose demand is farthest, one it does not plan for.
constexpr double kOutOfBand = 0.15, kOutOfOpen = 0.35, kNotPlanned = 0.5;

double rank_of(const std::vector<double>& ascending, double value) {
  if (ascending.empty()) return 0.5;
  const auto low = std::lower_bound(ascending.begin(), ascending.end(), value) - ascending.begin();
  const auto high = std::upper_bound(ascending.begin(), ascending.end(), value) - ascending.begin();
  return static_cast<double>(low + high) / 2 / static_cast<double>(ascending.size());
}

}  // namespace

double demand_quantile(const Fleet& fleet, const Ask& ask) { return rank_of(fleet.expected_demand, ask.demand_cores); }

bool Planner::stale(const Fleet& fleet) const {
  const std::size_t n = fleet.nodes.size();
  if (!plan_ || plan_->nodes() != n || plan_->revision() != fleet.revision || plan_->pods_stay() != fleet.pods_stay)
    return true;
  if (!plan_->pods_stay()) return false;
  double now = 0;
  for (std::size_t i = 0; i < n; ++i) now += plan_->pods_there(fleet, i);
  const double ahead = fleet.expected_cores.empty() ? now : fleet.expected_cores.back() / plan_->unit_cores();
  return std::abs(now - plan_->total_then()) >= std::max(1.0, options_.replan_ratio * ahead);
}

void Planner::prepare(const Fleet& fleet) {
  if (maker_ != nullptr) ready(fleet);
  if (!stale(fleet)) return;
  if (maker_ == nullptr) {
    replan(fleet);
  } else {
    maker_->want(fleet);
  }
}

bool Planner::ready(const Fleet& fleet) {
  if (maker_ == nullptr) {
    prepare(fleet);
  } else if (auto made = maker_->newest()) {
    plan_ = std::move(made);
  }
  return plan_ && plan_->nodes() == fleet.nodes.size();
}

Planner::Open Planner::open_places(const Fleet& fleet, const Ask& ask) const {
  const std::size_t n = fleet.nodes.size();
  Open open;
  open.done.resize(n);
  double placed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    open.done[i] = std::max(0.0, plan_->pods_there(fleet, i) - (plan_->pods_stay() ? plan_->pods_then(i) : 0.0));
    placed += open.done[i];
  }
  open.present = plan_->pods_stay()
                     ? std::max(kTail, plan_->survival(static_cast<std::size_t>(std::min(placed, kMostPods) + 0.5)))
                     : 1.0;
  open.places.assign(n, 0.0);
  std::size_t position = 0;
  for (const PlannedBlock& block : plan_->order()) {
    position += block.to - block.from;
    const double left =
        static_cast<double>(block.to) - std::max(open.done[block.node], static_cast<double>(block.from));
    if (left < 0.5 || !fits(fleet.nodes[block.node], ask)) continue;
    if (!open.by_slope.empty() && plan_->survival(position - 1) < plan_->settled() * open.present) break;
    if (open.places[block.node] == 0) open.by_slope.push_back(block.node);
    open.places[block.node] += left;
    open.total += left;
  }
  std::stable_sort(open.by_slope.begin(), open.by_slope.end(),
                   [&](auto a, auto b) { return plan_->slope(a) < plan_->slope(b); });
  return open;
}

std::optional<std::size_t> Planner::pick(const Fleet& fleet, const Ask& ask, const Open& open) const {
  if (open.by_slope.empty()) {  // no plan yet, or sizes unlike the mean: whatever fits
    std::optional<std::size_t> best;
    double least_w = 0;
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
      if (!fits(fleet.nodes[i], ask)) continue;
      const double here_w = amortised_w(fleet.nodes[i], ask);
      if (best && here_w >= least_w) continue;
      best = i;
      least_w = here_w;
    }
    return best;
  }
  double heavier = (1 - demand_quantile(fleet, ask)) * open.total;
  for (const std::size_t i : open.by_slope) {
    heavier -= open.places[i];
    if (heavier < 0) return i;
  }
  return open.by_slope.back();
}

std::optional<std::size_t> Planner::choose(const Fleet& fleet, const Ask& ask) {
  return pick(fleet, ask, ready(fleet) ? open_places(fleet, ask) : Open{});
}

PlanView Planner::view(const Fleet& fleet, const Ask& ask) {
  const bool planned = ready(fleet);
  const Open open = planned ? open_places(fleet, ask) : Open{};
  PlanView out;
  out.pick = pick(fleet, ask, open);
  out.demand_cores = ask.demand_cores;
  out.demand_quantile = demand_quantile(fleet, ask);
  out.life_s = fleet.pods_stay ? std::numeric_limits<double>::infinity() : ask.life_s;
  if (planned) view_nodes(fleet, open, out);
  return out;
}

void Planner::view_nodes(const Fleet& fleet, const Open& open, PlanView& out) const {
  out.nodes.resize(fleet.nodes.size());
  for (std::size_t i = 0; i < out.nodes.size(); ++i) {
    PlanView::Node& node = out.nodes[i];
    node.left = open.places[i];
    node.preference = -(kOutOfBand + kOutOfOpen + kNotPlanned);
    node.empties_s = fleet.nodes[i].pods == 0 ? 0.0
                     : fleet.pods_stay        ? std::numeric_limits<double>::infinity()
                                              : std::max(0.0, fleet.nodes[i].empties_at_s - fleet.now_s);
  }
  // Behind what is open: the less likely the next place is ever filled, the less the plan would have it.
  std::vector<bool> seen(out.nodes.size(), false);
  std::size_t position = 0;
  for (const PlannedBlock& block : plan_->order()) {
    const std::size_t first = position;
    position += block.to - block.from;
    PlanView::Node& node = out.nodes[block.node];
    for (std::size_t c = block.from; c < block.to; ++c) {
      const double likely = std::min(1.0, plan_->survival(first + c - block.from) / open.present);
      if (static_cast<double>(c) < open.done[block.node]) continue;
      node.expected += likely;
      out.expected_pods += likely;
    }
    if (seen[block.node] || static_cast<double>(block.to) - open.done[block.node] < 0.5) continue;
    seen[block.node] = true;
    const double likely =
        std::min(1.0, plan_->survival(position - 1) / open.present / std::max(plan_->settled(), kTail));
    node.preference = -(kOutOfBand + kOutOfOpen + (1 - likely) * kNotPlanned);
  }
  // Open: how far the pod's demand is from the node's part of the demand, flattest curves for the heaviest.
  const double at = (1 - out.demand_quantile) * open.total;
  double from = 0;
  for (const std::size_t i : open.by_slope) {
    const double to = from + open.places[i];
    const double away = std::max({0.0, from - at, at - to}) / std::max(open.total, 1.0);
    out.nodes[i].preference = -(kOutOfBand + away * kOutOfOpen);
    from = to;
  }
  if (out.pick) out.nodes[*out.pick].preference = 0;
}

}  // namespace wattle::placement
