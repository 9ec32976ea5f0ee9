#include "sim/scenarios/troubles.hpp"

#include <algorithm>
#include <numeric>

namespace wattle::sim {

namespace {

std::vector<std::size_t> shuffled(std::size_t n, Random& random) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[pick(random, i)]);
  return order;
}

std::vector<LatencyShift> shifts_of(const std::vector<NodeSpec>& nodes, double length_s) {
  constexpr std::size_t kShifts = 2;
  std::vector<double> ms;
  for (const NodeSpec& node : nodes) ms.push_back(node.latency_ms);
  std::vector<LatencyShift> shifts;
  for (std::size_t i = 0; i < kShifts; ++i) {
    const auto near = static_cast<std::size_t>(std::min_element(ms.begin(), ms.end()) - ms.begin());
    const auto far = static_cast<std::size_t>(std::max_element(ms.begin(), ms.end()) - ms.begin());
    const double at_s = length_s * static_cast<double>(i + 1) / static_cast<double>(kShifts + 1);
    shifts.push_back({at_s, near, ms[far]});
    shifts.push_back({at_s, far, ms[near]});
    std::swap(ms[near], ms[far]);
  }
  return shifts;
}

void fail_machines(FaultPlan& troubles, std::size_t nodes, double length_s, Random& random) {
  const std::vector<std::size_t> order = shuffled(nodes, random);
  const std::size_t gone = std::max<std::size_t>(1, nodes / 4);
  const std::size_t silent = std::max<std::size_t>(1, (nodes - gone) / 6);
  for (std::size_t i = 0; i < gone + silent && i < nodes; ++i) {
    const double from_s = uniform(random, 0.15, 0.7) * length_s;
    if (i < gone)
      troubles.outages.push_back({from_s, from_s + uniform(random, 180, 600), order[i]});
    else
      troubles.silences.push_back({from_s, from_s + uniform(random, 120, 360), order[i]});
  }
}

void change_curves(FaultPlan& troubles, const std::vector<NodeSpec>& nodes, double at_s) {
  const auto watts_per_core = [&](std::size_t i) {
    return (nodes[i].server.watts_at(0) + nodes[i].server.watts_at(0.5)) / nodes[i].server.cores;
  };
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return watts_per_core(a) < watts_per_core(b); });
  const std::size_t third = std::max<std::size_t>(1, nodes.size() / 3);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool first = i < third, last = i + third >= nodes.size();
    if (!first && !last) continue;
    CurveChange change{at_s, order[i], nodes[order[i]].server.watts};
    for (double& watts : change.watts) watts *= first ? kWasteful : kThrifty;
    troubles.curve_changes.push_back(change);
  }
}

void report_lies(FaultPlan& troubles, std::size_t nodes, double from_s, Random& random) {
  constexpr std::array kKinds{LieKind::frozen, LieKind::scaled, LieKind::swapped};
  const std::vector<std::size_t> order = shuffled(nodes, random);
  const std::size_t liars = std::max<std::size_t>(1, nodes / 10);
  for (std::size_t i = 0; i < liars; ++i)
    troubles.lies.push_back({kKinds[i % kKinds.size()], from_s, order[i], 0.4, order[(i + liars) % nodes]});
}

}  // namespace

FaultPlan draw_troubles(FaultKind kind, const std::vector<NodeSpec>& nodes, double length_s, std::uint64_t seed) {
  Random random(mix(seed, 0x74726f75626c65ULL));
  FaultPlan troubles;
  switch (kind) {
    case FaultKind::none:
      break;
    case FaultKind::latency:
      troubles.shifts = shifts_of(nodes, length_s);
      break;
    case FaultKind::machines:
      fail_machines(troubles, nodes.size(), length_s, random);
      break;
    case FaultKind::curves:
      change_curves(troubles, nodes, length_s / 2);
      break;
    case FaultKind::lies:
      report_lies(troubles, nodes.size(), length_s / 4, random);
      break;
  }
  return troubles;
}

}  // namespace wattle::sim
