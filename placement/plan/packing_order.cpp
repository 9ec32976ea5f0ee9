#include "placement/plan/packing_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "placement/worth/objective.hpp"

namespace wattle::placement {

namespace {

constexpr double kStragglers = 0.03;  // share by which pods that outlive a peak raise the number that counts
constexpr double kPresent = 0.8;      // of the requested cores, below which no number counts while their pods live
constexpr double kLogistic = 1.702;   // the logistic function is closest to the normal one at this scale
constexpr double kEmptyPods = 0.3;    // expected pods below which a node is mostly asleep
constexpr double kStep = 0.01, kSteps = 0.5;  // of the mean place: between neighbours at most, and over all
constexpr std::size_t kReach = 8;             // positions by which the search moves a node
constexpr std::size_t kPasses = 20;
constexpr std::size_t kCandidates = 64;  // nodes that compete for a position, best when filled first

}  // namespace

// What nodes cost by the requested cores that they hold.
struct PackingOrder::Costs {
  const Fleet& fleet;
  double unit_cores = 1;           // of the usual pod
  double use = kDemandOfRequest;   // mean use over request
  std::vector<double> room_cores;  // by node
  std::vector<double> expected;    // requested cores, ascending; empty: unknown
  bool growing = false;            // more is requested than ever before, so the expectations are too low

  explicit Costs(const Fleet& of) : fleet(of) {
    const Resources& usual = fleet.usual_request;
    unit_cores = usual.cpu_cores > 0 ? usual.cpu_cores : kRequestWhenNone;
    if (const auto& demand = fleet.expected_demand; !demand.empty())
      use = std::accumulate(demand.begin(), demand.end(), 0.0) / static_cast<double>(demand.size()) / unit_cores;
    for (const FleetNode& node : fleet.nodes) room_cores.push_back(std::max(0.0, unit_cores * places_of(node, usual)));
    double present_cores = 0;
    for (const FleetNode& node : fleet.nodes) present_cores += node.requested.cpu_cores;
    growing = !fleet.expected_cores.empty() && present_cores >= fleet.expected_cores.back();
    const auto n = static_cast<double>(fleet.expected_cores.size());
    const double all = std::accumulate(fleet.expected_cores.begin(), fleet.expected_cores.end(), 0.0);
    const double chance = n > 0 ? std::sqrt(std::max(0.0, all / n * unit_cores)) / kLogistic : 0;
    for (std::size_t k = 0; k < fleet.expected_cores.size(); ++k) {
      const double p = (static_cast<double>(k) + 0.5) / n;
      expected.push_back(std::max({unit_cores, kPresent * present_cores,
                                   (1 + kStragglers) * fleet.expected_cores[k] + chance * std::log(p / (1 - p))}));
    }
  }
  double watts(std::size_t node, double cores) const {
    const FleetNode& of = fleet.nodes[node];
    if (cores < kEmptyPods * unit_cores) return of.sleep_w;
    return node_cost_w(of, use * cores, cores / unit_cores * fleet.expected_burst_cores2, fleet.cpu_wait_price_w);
  }
  double full_w(std::size_t node) const {
    const double room = room_cores[node];
    return room > 0 ? watts(node, room) * unit_cores / room : std::numeric_limits<double>::max();
  }
  double there(std::size_t node, double before, double cores) const {
    return std::clamp(cores - before, 0.0, room_cores[node]);
  }
  // Watts of these nodes, filled one after the other, after `before` cores of others; mean over the expected numbers.
  double mean_w(const std::size_t* from, const std::size_t* to, double before) const {
    double sum = 0;
    for (const std::size_t* node = from; node != to; before += room_cores[*node], ++node)
      for (const double cores : expected) sum += watts(*node, there(*node, before, cores));
    return sum / static_cast<double>(expected.size());
  }
  double mean_w(const std::vector<std::size_t>& order) const {
    return mean_w(order.data(), order.data() + order.size(), 0);
  }
  // Watts above sleep per core that the node can expect to hold; no value if it can expect none.
  std::optional<double> per_core_w(std::size_t node, double before) const {
    double watts_sum = 0, cores_sum = 0;
    for (const double cores : expected) {
      const double held = there(node, before, cores);
      watts_sum += watts(node, held) - fleet.nodes[node].sleep_w;
      cores_sum += held;
    }
    return cores_sum > kEmptyPods * unit_cores ? std::optional(watts_sum / cores_sum) : std::nullopt;
  }
  void draw_forward(std::vector<std::size_t>& order) const;
  void improve(std::vector<std::size_t>& order) const;
};

// Reorders nodes, which are sorted by watts when filled, by what they can expect to hold.
void PackingOrder::Costs::draw_forward(std::vector<std::size_t>& order) const {
  double before = 0;
  for (auto at = order.begin(); at != order.end(); ++at) {
    auto best = order.end();
    double least_w = 0;
    const auto end = at + std::min<std::ptrdiff_t>(order.end() - at, kCandidates);
    for (auto each = at; each != end; ++each) {
      const auto here_w = per_core_w(*each, before);
      if (!here_w) continue;
      if (best != order.end() && *here_w >= least_w) continue;
      best = each;
      least_w = *here_w;
    }
    if (best == order.end()) return;
    std::rotate(at, best, best + 1);
    before += room_cores[*at];
  }
}

void PackingOrder::Costs::improve(std::vector<std::size_t>& order) const {
  const std::size_t n = order.size();
  std::vector<std::size_t> moved;
  bool better = true;
  for (std::size_t pass = 0; better && pass < kPasses; ++pass) {
    better = false;
    double before = 0;
    for (std::size_t i = 0; i < n; before += room_cores[order[i]], ++i) {
      if (before > expected.back()) break;
      double filled = before + room_cores[order[i]];
      for (std::size_t k = i + 1; k < std::min(n, i + kReach + 1); ++k) {
        filled += room_cores[order[k]];
        if (filled <= expected.front()) continue;  // all of them are always full
        const std::size_t* from = order.data() + i;
        const std::size_t* to = order.data() + k + 1;
        const double now_w = mean_w(from, to, before);
        const auto adopt = [&](auto&& change) {
          moved.assign(from, to);
          change();
          if (!(mean_w(moved.data(), moved.data() + moved.size(), before) < now_w * (1 - 1e-9) - 1e-9)) return false;
          std::copy(moved.begin(), moved.end(), order.begin() + static_cast<std::ptrdiff_t>(i));
          return true;
        };
        better = adopt([&] { std::swap(moved.front(), moved.back()); }) ||
                 adopt([&] { std::rotate(moved.begin(), moved.begin() + 1, moved.end()); }) ||
                 adopt([&] { std::rotate(moved.begin(), moved.end() - 1, moved.end()); }) || better;
      }
    }
  }
}

PackingOrder::PackingOrder(const Fleet& fleet, const PackingOrder* former) : order_(fleet.nodes.size()) {
  const Costs costs(fleet);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::vector<double> full_w(order_.size());
  for (const std::size_t i : order_) full_w[i] = costs.full_w(i);
  std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return full_w[a] < full_w[b]; });
  const bool same_nodes = former != nullptr && former->order_.size() == order_.size();
  if (costs.growing) {
    if (same_nodes) order_ = former->order_;
  } else if (!costs.expected.empty()) {
    costs.draw_forward(order_);
    costs.improve(order_);
    if (same_nodes && costs.mean_w(former->order_) <= (1 + kKeepOrder) * costs.mean_w(order_)) order_ = former->order_;
  }
  double sum_w = 0, count = 0;
  for (const double each_w : full_w) {
    if (each_w == std::numeric_limits<double>::max()) continue;
    sum_w += each_w;
    ++count;
  }
  const double step_w = std::min(kStep, kSteps / std::max(count, 1.0)) * sum_w / std::max(count, 1.0);
  place_w_.resize(order_.size());
  double last_w = 0;
  for (const std::size_t i : order_) place_w_[i] = last_w = std::max(last_w + step_w, std::min(full_w[i], sum_w));
}

}  // namespace wattle::placement
