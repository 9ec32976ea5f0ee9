#include "placement/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "placement/worth/objective.hpp"

namespace wattle::placement {

namespace {

double mean_of(const std::vector<double>& values, double otherwise) {
  if (values.empty()) return otherwise;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean of the quantile function between two shares.
double mean_between(const std::vector<double>& ascending, double low, double high) {
  const auto n = static_cast<double>(ascending.size());
  const double from = std::clamp(low, 0.0, 1.0) * n, to = std::clamp(high, 0.0, 1.0) * n;
  if (!(to - from > 1e-9)) return ascending[std::min(static_cast<std::size_t>(from), ascending.size() - 1)];
  double sum = 0;
  for (auto i = static_cast<std::size_t>(from); i < ascending.size() && static_cast<double>(i) < to; ++i) {
    const double part = std::min(to, static_cast<double>(i + 1)) - std::max(from, static_cast<double>(i));
    sum += part * ascending[i];
  }
  return sum / (to - from);
}

constexpr double kPriceAlike = 2;  // ratio of prices above which an order does not fit the conditions any longer

bool alike(double a, double b) {
  constexpr double kAlike = 0.1;
  return std::abs(a - b) <= kAlike * std::max(a, b);
}

// P(requested cores > `cores`).
double exceeds(const std::vector<double>& expected, double cores) {
  if (cores < expected.front()) return 1;
  if (cores >= expected.back()) return 0;
  const auto above = std::upper_bound(expected.begin(), expected.end(), cores);
  const auto i = static_cast<double>(above - expected.begin());
  const double low = *(above - 1), high = *above;
  const double part = high > low ? (cores - low) / (high - low) : 1;
  return 1 - (i - 1 + part) / static_cast<double>(expected.size() - 1);
}

}  // namespace

double Plan::pods_there(const Fleet& fleet, std::size_t i) const {
  const FleetNode& node = fleet.nodes[i];
  double pods = node.requested.cpu_cores / unit_cores_;
  if (unit_memory_ > 0) pods = std::max(pods, node.requested.memory_bytes / unit_memory_);
  return pods;
}

double Plan::block_cost(const PlannedBlock& block, std::size_t position) const {
  const std::vector<double>& row = cost_[block.node];
  double sum = 0;
  for (std::size_t c = block.from; c < block.to; ++c)
    sum += survival(position + c - block.from) * (row[c + 1] - row[c]);
  return sum;
}

double Plan::order_cost(const std::vector<PlannedBlock>& order) const {
  double sum = 0;
  std::size_t position = 0;
  for (const PlannedBlock& block : order) {
    sum += block_cost(block, position);
    position += block.to - block.from;
  }
  return sum;
}

void Plan::tabulate(const Fleet& fleet) {
  cost_.assign(fleet.nodes.size(), {});
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const FleetNode& node = fleet.nodes[i];
    const double there = pods_stay_ ? pods_then_[i] : 0;
    const double used = pods_stay_ ? node.used_cores : 0;
    const double used2 = pods_stay_ ? node.used_cores2 : 0;
    const bool empty = pods_stay_ ? node.pods == 0 : true;
    double room = node.allocatable.cpu_cores / unit_cores_ - there;
    if (unit_memory_ > 0) room = std::min(room, node.allocatable.memory_bytes / unit_memory_ - there);
    room = std::min(room, static_cast<double>(node.pod_capacity) - (pods_stay_ ? static_cast<double>(node.pods) : 0));
    const auto slots = static_cast<std::size_t>(std::max(0.0, std::floor(room + 1e-6)));
    std::vector<double>& row = cost_[i];
    row.reserve(slots + 1);
    row.push_back(empty && fleet.idle_nodes_sleep ? node.sleep_w
                                                  : node_cost_w(node, used, used2, fleet.cpu_wait_price_w));
    const double wake_w = empty && fleet.idle_nodes_sleep && fleet.hold_s > 0 ? node.wake_j / fleet.hold_s : 0;
    for (std::size_t c = 1; c <= slots; ++c)
      row.push_back(node_cost_w(node, used + static_cast<double>(c) * demand_[i],
                                used2 + static_cast<double>(c) * fleet.expected_burst_cores2, fleet.cpu_wait_price_w) +
                    wake_w);
  }
}

std::vector<PlannedBlock> Plan::order_for(const std::vector<std::size_t>& counts) const {
  struct Candidate {
    bool beyond;  // blocks outside the allotment come last
    double slope_w;
    PlannedBlock block;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    const std::size_t count = counts[i];
    for (const FillBlock& block : fill_blocks(std::span(cost_[i]).first(count + 1)))
      candidates.push_back({false, block.slope_w, {i, block.from, block.to}});
    for (const FillBlock& block : fill_blocks(cost_[i], count))
      candidates.push_back({true, block.slope_w, {i, block.from, block.to}});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.beyond != b.beyond ? b.beyond : a.slope_w < b.slope_w;
  });
  std::vector<PlannedBlock> order;
  order.reserve(candidates.size());
  for (const Candidate& each : candidates) order.push_back(each.block);
  return order;
}

void Plan::improve(std::size_t moves) {
  // Moves one block across its neighbours while that lowers the cost. Blocks of one server keep their order.
  constexpr std::size_t kReach = 8;
  std::size_t tried = 0;
  bool better = true;
  while (better && tried < moves) {
    better = false;
    std::size_t start = 0;
    for (std::size_t i = 0; i + 1 < order_.size() && tried < moves; ++i) {
      if (survival(start) < kTail) break;
      const std::size_t length = order_[i].to - order_[i].from;
      // Moves block i behind block k, for growing k; the same swap moves block k to the front when it is short.
      double before = block_cost(order_[i], start), after = 0;
      std::size_t position = start;
      std::size_t best_k = i;
      double best_gain = 1e-9;
      for (std::size_t k = i + 1; k < std::min(order_.size(), i + 1 + kReach); ++k) {
        if (order_[k].node == order_[i].node) break;
        ++tried;
        const std::size_t width = order_[k].to - order_[k].from;
        before += block_cost(order_[k], position + length);
        after += block_cost(order_[k], position);
        position += width;
        const double gain = before - after - block_cost(order_[i], position);
        if (gain > best_gain) {
          best_gain = gain;
          best_k = k;
        }
      }
      if (best_k != i) {
        const auto first = order_.begin() + static_cast<std::ptrdiff_t>(i);
        std::rotate(first, first + 1, order_.begin() + static_cast<std::ptrdiff_t>(best_k) + 1);
        better = true;
      }
      start += order_[i].to - order_[i].from;
    }
  }
}

void Plan::match(const Fleet& fleet) {
  const double mean = mean_of(fleet.expected_demand, 0.5 * unit_cores_);
  std::vector<std::size_t> open(fleet.nodes.size(), 0), planned(fleet.nodes.size(), 0);
  std::size_t position = 0, total = 0;
  for (const PlannedBlock& block : order_) {
    const std::size_t pods = block.to - block.from;
    position += pods;
    if (survival(position - 1) >= 0.5) planned[block.node] = block.to;
    if (survival(position - 1) < settled_) continue;
    open[block.node] += pods;
    total += pods;
  }
  std::vector<std::size_t> by_slope;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const FleetNode& node = fleet.nodes[i];
    const double used = (pods_stay_ ? node.used_cores : 0) + static_cast<double>(planned[i]) * demand_[i];
    const double step = 0.1 * node.allocatable.cpu_cores;
    const double low = std::max(0.0, used - step), high = used + step;
    slope_[i] = high > low ? (node.watts_at(high) - node.watts_at(low)) / (high - low) : 0;
    if (open[i] > 0) by_slope.push_back(i);
  }
  demand_.assign(fleet.nodes.size(), mean);
  if (fleet.expected_demand.empty() || total == 0) return;
  std::stable_sort(by_slope.begin(), by_slope.end(), [&](auto a, auto b) { return slope_[a] < slope_[b]; });
  double heavier = 0;  // share of pods that went to flatter servers
  for (const std::size_t i : by_slope) {
    const double share = static_cast<double>(open[i]) / static_cast<double>(total);
    demand_[i] = mean_between(fleet.expected_demand, 1 - heavier - share, 1 - heavier);
    heavier += share;
  }
}

// Computes median and spread of the number of pods, and the probability of each position.
void Plan::expect(const Fleet& fleet) {
  std::size_t room = 0;
  for (const auto& row : cost_) room += row.size() - 1;
  std::vector<double> expected = fleet.expected_cores;
  if (expected.size() < 2) {
    double cores = 0;
    for (const FleetNode& node : fleet.nodes) cores += node.allocatable.cpu_cores;
    expected = {expected.empty() ? 0.0 : expected.front(), expected.empty() ? cores : expected.front() + 1e-6};
  }
  const double middle = mean_of(expected, 0);
  const double spread = middle > 0 ? std::min(1.0, (expected.back() - expected.front()) / middle) : 1.0;
  settled_ = settled_ratio_ + std::max(0.0, (spread - 0.3) / 0.7) * (settled_ratio_open_ - settled_ratio_);
  const double base_cores = pods_stay_ ? total_then_ * unit_cores_ : 0;
  survival_.resize(room);
  double tail = kTail;
  const double fade = std::exp(-1.0 / (1.0 + 0.02 * static_cast<double>(room)));
  double first = 0;
  for (std::size_t k = 0; k < room; ++k) {
    const double likely = exceeds(expected, base_cores + (static_cast<double>(k) + 0.5) * unit_cores_);
    if (k == 0) first = std::max(likely, kTail);
    survival_[k] = std::max(likely / first, tail);
    if (likely / first < kTail) tail *= fade;
  }
}

void Plan::find_order(const PlannerOptions& options) {
  order_ = order_for(std::vector<std::size_t>(cost_.size(), 0));
  double least = order_cost(order_);
  for (std::size_t f = 0; f < options.forecasts; ++f) {
    // Counts at evenly spaced probabilities of being exceeded.
    const double level = 1 - (static_cast<double>(f) + 0.5) / static_cast<double>(options.forecasts);
    const auto at = std::partition_point(survival_.begin(), survival_.end(), [&](double s) { return s > level; });
    const auto pods = static_cast<std::size_t>(at - survival_.begin());
    if (pods == 0) continue;
    std::vector<PlannedBlock> order = order_for(optimal_allocation(cost_, pods, options.allot_cells));
    const double cost = order_cost(order);
    if (cost >= least) continue;
    least = cost;
    order_ = std::move(order);
  }
  improve(options.moves);
}

bool Plan::follows(const Plan& former) const {
  return !pods_stay_ && !former.pods_stay_ && former.nodes() == pods_then_.size() &&
         std::max(price_w_, former.price_w_) <= kPriceAlike * std::min(price_w_, former.price_w_) + 1e-9;
}

// Adapts the order to the current places: drops places that no longer exist and appends new ones.
std::vector<PlannedBlock> Plan::fitted(const std::vector<PlannedBlock>& order) const {
  std::vector<std::size_t> planned(cost_.size(), 0);
  std::vector<PlannedBlock> fitted;
  for (PlannedBlock block : order) {
    block.to = std::min(block.to, cost_[block.node].size() - 1);
    if (block.from >= block.to) continue;
    planned[block.node] = block.to;
    fitted.push_back(block);
  }
  for (std::size_t i = 0; i < cost_.size(); ++i)
    if (planned[i] + 1 < cost_[i].size()) fitted.push_back({i, planned[i], cost_[i].size() - 1});
  return fitted;
}

// After a change of order, pods still run on the old servers while others start on new ones, so that more servers are
//          in use for a pod's lifetime. The former order therefore stays unless the new one is much cheaper.
void Plan::keep(const PlannerOptions& options, const Plan& former) {
  std::vector<PlannedBlock> order = fitted(former.order_);
  if (order_cost(order) <= order_cost(order_) * (1 + options.keep_ratio)) order_ = std::move(order);
}

void Plan::index() {
  first_of_.assign(pods_then_.size() + 1, 0);
  for (const PlannedBlock& block : order_) ++first_of_[block.node + 1];
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  by_node_.resize(order_.size());
  std::vector<std::size_t> next(first_of_.begin(), first_of_.end() - 1);
  std::size_t position = 0;
  for (const PlannedBlock& block : order_) {
    by_node_[next[block.node]++] = {block, position};
    position += block.to - block.from;
  }
}

Plan::Plan(const PlannerOptions& options, const Fleet& fleet, const Plan* former)
    : settled_ratio_(options.settled_ratio),
      settled_ratio_open_(options.settled_ratio_open),
      unit_cores_(std::max(1e-3, fleet.mean_request.cpu_cores)),
      unit_memory_(fleet.mean_request.memory_bytes),
      price_w_(fleet.cpu_wait_price_w),
      pods_stay_(fleet.pods_stay),
      revision_(fleet.revision) {
  const std::size_t n = fleet.nodes.size();
  pods_then_.resize(n);
  if (former != nullptr && !follows(*former)) former = nullptr;
  // Keeps the unit of counting while it is similar.
  if (former != nullptr && alike(unit_cores_, former->unit_cores_) && alike(unit_memory_, former->unit_memory_)) {
    unit_cores_ = former->unit_cores_;
    unit_memory_ = former->unit_memory_;
  }
  slope_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) pods_then_[i] = pods_there(fleet, i);
  total_then_ = std::accumulate(pods_then_.begin(), pods_then_.end(), 0.0);
  demand_.assign(n, mean_of(fleet.expected_demand, 0.5 * unit_cores_));
  tabulate(fleet);
  expect(fleet);
  for (std::size_t round = 0; round < std::max<std::size_t>(1, options.matching_rounds); ++round) {
    if (round > 0) {
      match(fleet);
      tabulate(fleet);
    }
    find_order(options);
  }
  if (former != nullptr) keep(options, *former);
  expected_w_ = order_cost(order_);
  // Demand and slopes follow the final order; its costs stay those of the selection.
  match(fleet);
  cost_ = {};
  index();
}

}  // namespace wattle::placement
