#include "placement/plan/planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "placement/plan/pair_cost.hpp"
#include "placement/worth/objective.hpp"
#include "placement/worth/ranks.hpp"

namespace wattle::placement {

namespace {

constexpr double kTail = Plan::kTail;
constexpr double kMostPods = 1e9;
constexpr double kLeastMean_w = 1e-3;
// Preference against a node, in W0: another open node at the farthest demand, a node that is not open, a node that is
// not planned.
constexpr double kOutOfBand = 0.15, kOutOfOpen = 0.35, kNotPlanned = 0.5;

double rank_of(const std::vector<double>& ascending, double value) {
  if (ascending.empty()) return 0.5;
  const auto low = std::lower_bound(ascending.begin(), ascending.end(), value) - ascending.begin();
  const auto high = std::upper_bound(ascending.begin(), ascending.end(), value) - ascending.begin();
  return static_cast<double>(low + high) / 2 / static_cast<double>(ascending.size());
}

}  // namespace

double demand_quantile(const Fleet& fleet, const PodEstimate& ask) {
  return rank_of(fleet.expected_demand, ask.demand_cores);
}

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

// Updates the plan's progress. Reads only changed nodes if the fleet reports changes; otherwise reads all and
// recomputes those that moved. With pods that stay, every node's expectation depends on the total number of pods.
void Planner::follow(const Fleet& fleet) {
  const std::size_t n = fleet.nodes.size();
  const bool followed = progress_.plan == plan_ && progress_.done.size() == n;
  const bool reported = followed && fleet.edition_of.size() == n && progress_.edition <= fleet.edition;
  const double was_present = progress_.present;
  progress_.plan = plan_;
  progress_.done.resize(n);
  progress_.expected.resize(n);
  progress_.closed.resize(n);
  moved_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (reported && fleet.edition_of[i] <= progress_.edition) continue;
    const double done = std::max(0.0, plan_->pods_there(fleet, i) - (plan_->pods_stay() ? plan_->pods_then(i) : 0.0));
    if (followed && done == progress_.done[i]) continue;
    progress_.done[i] = done;
    moved_.push_back(i);
  }
  progress_.edition = fleet.edition;
  progress_.present = 1;
  if (plan_->pods_stay()) {
    const double placed = std::accumulate(progress_.done.begin(), progress_.done.end(), 0.0);
    progress_.present =
        std::max(kTail, plan_->survival(static_cast<std::size_t>(std::lround(std::min(placed, kMostPods)))));
  }
  const bool some = followed && progress_.present == was_present;
  if (some && moved_.empty()) return;
  const auto expect = [&](std::size_t i) {
    progress_.expected[i] = still_expected(i);
    progress_.closed[i] = closed_preference(i);
  };
  if (some)
    for (const std::size_t i : moved_) expect(i);
  else
    for (std::size_t i = 0; i < n; ++i) expect(i);
  progress_.expected_pods = std::accumulate(progress_.expected.begin(), progress_.expected.end(), 0.0);
}

double Planner::still_expected(std::size_t node) const {
  const double done = progress_.done[node];
  double sum = 0;
  for (const Plan::Placed& placed : plan_->blocks_of(node))
    for (std::size_t c = placed.block.from; c < placed.block.to; ++c)
      if (static_cast<double>(c) >= done)
        sum += std::min(1.0, plan_->survival(placed.position + c - placed.block.from) / progress_.present);
  return sum;
}

// Returns the blocks of the nodes that may be open.
std::vector<Plan::Placed> Planner::blocks_in_order(const Fleet& fleet) const {
  std::vector<Plan::Placed> blocks;
  for (const std::size_t node : fleet.only) {
    const auto of_node = plan_->blocks_of(node);
    blocks.insert(blocks.end(), of_node.begin(), of_node.end());
  }
  std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.position < b.position; });
  return blocks;
}

Planner::Open Planner::open_places(const Fleet& fleet, const PodEstimate& ask) const {
  constexpr std::size_t kFew = 8;  // fraction of nodes below which sorting their blocks is faster than a walk over all
  Open open;
  std::vector<double> places(fleet.nodes.size(), 0.0);
  const auto add = [&](const PlannedBlock& block, std::size_t end) {
    const double left =
        static_cast<double>(block.to) - std::max(progress_.done[block.node], static_cast<double>(block.from));
    if (left < 0.5 || !fits(fleet.nodes[block.node], ask)) return true;
    if (!open.by_slope.empty() && plan_->survival(end - 1) < plan_->settled() * progress_.present) return false;
    if (places[block.node] == 0) open.by_slope.push_back(block.node);
    places[block.node] += left;
    open.total += left;
    return true;
  };
  if (!fleet.only.empty() && fleet.only.size() * kFew <= fleet.nodes.size()) {
    for (const Plan::Placed& placed : blocks_in_order(fleet))
      if (!add(placed.block, placed.end())) break;
  } else {
    std::size_t position = 0;
    for (const PlannedBlock& block : plan_->order()) {
      position += block.to - block.from;
      if (!add(block, position)) break;
    }
  }
  std::stable_sort(open.by_slope.begin(), open.by_slope.end(),
                   [&](auto a, auto b) { return plan_->slope(a) < plan_->slope(b); });
  for (const std::size_t i : open.by_slope) open.places.push_back(places[i]);
  return open;
}

std::optional<std::size_t> Planner::pick(const Fleet& fleet, const PodEstimate& ask, const Open& open) const {
  if (open.by_slope.empty()) {  // no plan yet, or sizes unlike the mean: any node that fits
    std::optional<std::size_t> best;
    double least_w = 0;
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
      if (!fits(fleet.nodes[i], ask)) continue;
      const double here_w = amortised_cost_w(fleet, i, ask);
      if (best && here_w >= least_w) continue;
      best = i;
      least_w = here_w;
    }
    return best;
  }
  double heavier = (1 - demand_quantile(fleet, ask)) * open.total;
  for (std::size_t k = 0; k < open.by_slope.size(); ++k) {
    heavier -= open.places[k];
    if (heavier < 0) return open.by_slope[k];
  }
  return open.by_slope.back();
}

// Where pods come and go and nodes sleep, the order of the nodes alone decides which nodes are awake, so it must be a
// fixed one: that of node-order. Otherwise the idle watts are spent anyway, and the pod's own cost is the watts that it
// adds plus its share of them.
double Planner::own_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask) const {
  if (fleet.pods_stay || !fleet.idle_nodes_sleep) return amortised_w(fleet.nodes[node], ask);
  return packing_w(fleet.nodes[node], fleet.usual_request) * places_taken(ask.request, fleet.usual_request);
}

// Adds the costs that the plan does not contain: waiting among the actual pods, and the pod's own cost to the extent
// that the expectations are not trusted.
void Planner::add_own_costs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes,
                            PlanView& view) const {
  const double trust = std::clamp(fleet.trust, 0.0, 1.0);
  std::vector<double> own_w(nodes.size(), 0.0), ascending;
  ascending.reserve(nodes.size());
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!fits(fleet.nodes[nodes[k]], ask)) continue;
    own_w[k] = this->own_w(fleet, nodes[k], ask);
    ascending.push_back(own_w[k]);
  }
  if (ascending.empty()) return;
  // Sorted, because the sum must not depend on the order of the nodes.
  sort_ascending(ascending);
  const double least_w = ascending.front();
  const double mean_w = std::max(
      std::accumulate(ascending.begin(), ascending.end(), 0.0) / static_cast<double>(ascending.size()), kLeastMean_w);
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!fits(fleet.nodes[nodes[k]], ask)) continue;
    double& preference = view.nodes[k].preference;
    // Among nodes that the plan has not opened, the pod's own cost decides, because the plan does not distinguish them.
    const double share = view.nodes[k].left > 0 ? 1 - trust : 1;
    preference = trust * preference - share * (own_w[k] - least_w) / mean_w;
    view.nodes[k].wait_w = added_wait_w(fleet, nodes[k], ask);
    preference -= view.nodes[k].wait_w / mean_w;
    // Among equals the first of the fleet wins, independent of the order of `nodes`.
    if (preference < best || (preference == best && *view.pick < nodes[k])) continue;
    best = preference;
    view.pick = nodes[k];
  }
  for (PlanView::Node& node : view.nodes) node.preference -= best;
}

namespace {
bool costs_count(const Fleet& fleet) { return fleet.cpu_wait_price_w > 0 || fleet.trust < 1 || fleet.pairs != nullptr; }
}  // namespace

std::optional<std::size_t> Planner::choose(const Fleet& fleet, const PodEstimate& ask) {
  const bool planned = ready(fleet);
  if (planned && costs_count(fleet)) return view(fleet, ask).pick;
  if (planned) follow(fleet);
  return pick(fleet, ask, planned ? open_places(fleet, ask) : Open{});
}

PlanView Planner::view(const Fleet& fleet, const PodEstimate& ask, std::optional<std::span<const std::size_t>> rows) {
  const bool planned = ready(fleet);
  if (planned) follow(fleet);
  const Open open = planned ? open_places(fleet, ask) : Open{};
  PlanView out;
  out.pick = pick(fleet, ask, open);
  out.demand_cores = ask.demand_cores;
  out.demand_quantile = demand_quantile(fleet, ask);
  out.demand_error_cores = ask.error_cores;
  out.forecast_error_ratio = fleet.forecast_error_ratio;
  out.life_s = fleet.pods_stay ? std::numeric_limits<double>::infinity() : ask.life_s;
  if (!planned) return out;
  out.expected_pods = progress_.expected_pods;

  const std::size_t n = fleet.nodes.size();
  const std::size_t count = rows ? rows->size() : n;
  std::vector<std::size_t> place(n, count);  // position in `out`, by node
  out.nodes.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t node = rows ? (*rows)[k] : k;
    place[node] = k;
    out.nodes.push_back(view_node(fleet, node));
  }
  // Open nodes: distance of the pod's demand from the node's part of the demand, with the flattest curves for the
  // heaviest pods.
  const double at = (1 - out.demand_quantile) * open.total;
  double from = 0;
  for (std::size_t k = 0; k < open.by_slope.size(); ++k) {
    const double to = from + open.places[k];
    const double away = std::max({0.0, from - at, at - to}) / std::max(open.total, 1.0);
    from = to;
    if (place[open.by_slope[k]] == count) continue;
    PlanView::Node& node = out.nodes[place[open.by_slope[k]]];
    node.left = open.places[k];
    node.preference = -(kOutOfBand + away * kOutOfOpen);
  }
  if (out.pick && place[*out.pick] != count) out.nodes[place[*out.pick]].preference = 0;
  if (!rows) std::iota(place.begin(), place.end(), std::size_t{0});
  const std::span<const std::size_t> nodes = rows.value_or(place);
  if (costs_count(fleet)) add_own_costs(fleet, ask, nodes, out);
  apply_pair_cost(fleet, ask, nodes, out);
  return out;
}

// Returns the view of a closed node.
PlanView::Node Planner::view_node(const Fleet& fleet, std::size_t i) const {
  PlanView::Node node;
  node.expected = progress_.expected[i];
  node.curve_error_w = fleet.nodes[i].curve_error_w;
  node.uncertain_cores = fleet.nodes[i].uncertain_cores;
  node.wait_error = fleet.nodes[i].wait_error;
  node.empties_s = fleet.nodes[i].pods == 0 ? 0.0
                   : fleet.pods_stay        ? std::numeric_limits<double>::infinity()
                                            : std::max(0.0, fleet.nodes[i].empties_at_s - fleet.now_s);
  node.preference = progress_.closed[i];
  return node;
}

// Falls with the probability that the node's next place is filled.
double Planner::closed_preference(std::size_t i) const {
  const auto blocks = plan_->blocks_of(i);
  const auto next = std::find_if(blocks.begin(), blocks.end(), [&](const Plan::Placed& placed) {
    return static_cast<double>(placed.block.to) - progress_.done[i] >= 0.5;
  });
  const double likely =
      next == blocks.end()
          ? 0.0
          : std::min(1.0, plan_->survival(next->end() - 1) / progress_.present / std::max(plan_->settled(), kTail));
  return -(kOutOfBand + kOutOfOpen + (1 - likely) * kNotPlanned);
}

}  // namespace wattle::placement
