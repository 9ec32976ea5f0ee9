#include "placement/sleep/plan_state.hpp"

#include <algorithm>
#include <tuple>

namespace wattle::placement::sleep {

namespace {
constexpr double kSameKind = 1.05;  // curves of two nodes of one kind differ by the error of their fits
}  // namespace

PlanState::PlanState(const SleepInputs& inputs, const SleepConfig& limits)
    : in(inputs), config(limits), fleet(*inputs.fleet) {
  fleet.only.clear();
  awake.resize(fleet.nodes.size());
  coming.resize(fleet.nodes.size());
  for (std::size_t row = 0; row < fleet.nodes.size(); ++row) {
    const SleepNode& each = node(row);
    FleetNode& there = fleet.nodes[row];
    const PowerState state = each.record.state;
    awake[row] = takes_pods(each.record) && each.ready && there.open && each.facts.held_by.empty();
    coming[row] = !awake[row] && (state == PowerState::waking || state == PowerState::probation ||
                                  (state == PowerState::suspending && each.record.wake_pending) ||
                                  (state == PowerState::awake && each.record.marked));
    if (available(row)) kinds.add(each.facts, 1);
    if (state == PowerState::draining) continue;  // its pods are reserved on their targets
    requested_.cpu_cores += there.requested.cpu_cores;
    requested_.memory_bytes += there.requested.memory_bytes;
  }
  for (const PendingPod& pod : in.pending) {
    const Resources& request = pod.estimate.request;
    requested_.cpu_cores += request.cpu_cores;
    requested_.memory_bytes += request.memory_bytes;
    largest_pending_.cpu_cores = std::max(largest_pending_.cpu_cores, request.cpu_cores);
    largest_pending_.memory_bytes = std::max(largest_pending_.memory_bytes, request.memory_bytes);
  }
}

double PlanState::watts(std::size_t row) const {
  const FleetNode& there = fleet.nodes[row];
  const TransitionCost round = cost(row);
  switch (node(row).record.state) {
    case PowerState::asleep:
      return round.asleep_w;
    case PowerState::suspending:
      return round.sleep_s > 0 ? round.sleep_j / round.sleep_s : idle_w(row);
    case PowerState::waking:
      return round.wake_s > 0 ? round.wake_j / round.wake_s : idle_w(row);
    default:
      return there.watts_at(there.used_cores);
  }
}

bool PlanState::takes(std::size_t row, std::string_view pod, const PodEstimate& estimate) const {
  FleetNode there = fleet.nodes[row];
  there.open = true;
  return fits(there, estimate) && (!in.may_run || in.may_run(pod, row));
}

void PlanState::reserve(std::size_t row, const PodEstimate& estimate, int sign) {
  FleetNode& there = fleet.nodes[row];
  there.requested.cpu_cores += sign * estimate.request.cpu_cores;
  there.requested.memory_bytes += sign * estimate.request.memory_bytes;
  there.used_cores = std::max(0.0, there.used_cores + sign * estimate.demand_cores);
  there.used_cores2 = std::max(0.0, there.used_cores2 + sign * estimate.demand_cores2);
  if (sign > 0)
    ++there.pods;
  else if (there.pods > 0)
    --there.pods;
}

std::optional<std::size_t> PlanState::place(std::string_view pod, const PodEstimate& estimate,
                                            std::optional<std::size_t> from, bool not_awake) {
  std::optional<std::size_t> chosen;
  const auto rank = [&](std::size_t row) { return std::tuple(fleet.nodes[row].pods == 0, node(row).order, row); };
  for (std::size_t row = 0; row < fleet.nodes.size(); ++row) {
    FleetNode& there = fleet.nodes[row];
    const bool may = from ? awake[row] && row != *from && node(row).facts.emptied_by.empty() &&
                                node(row).order <= kSameKind * node(*from).order
                          : available(row);
    there.open = may && !(not_awake && awake[row]) && takes(row, pod, estimate);
    if (there.open && (!chosen || rank(row) < rank(*chosen))) chosen = row;
  }
  if (chosen && in.choose) {
    const std::optional<std::size_t> better = in.choose(fleet, estimate);
    if (better && *better < fleet.nodes.size() && fleet.nodes[*better].open) chosen = better;
  }
  if (chosen) reserve(*chosen, estimate);
  return chosen;
}

void PlanState::becomes_coming(std::size_t row) {
  if (!available(row)) kinds.add(node(row).facts, 1);
  coming[row] = 1;
}

void PlanState::sleeps(std::size_t row) {
  if (available(row)) kinds.add(node(row).facts, -1);
  awake[row] = coming[row] = 0;
}

Resources PlanState::capacity(std::optional<std::size_t> without) const {
  Resources sum;
  for (std::size_t row = 0; row < fleet.nodes.size(); ++row) {
    if (!available(row) || row == without) continue;
    sum.cpu_cores += fleet.nodes[row].allocatable.cpu_cores;
    sum.memory_bytes += fleet.nodes[row].allocatable.memory_bytes;
  }
  return sum;
}

bool PlanState::wakes_in_time(std::size_t row) const {
  const Duration ready = config.rules.lost_after + from_seconds(cost(row).wake_s);
  return node(row).facts.can_wake && ready <= config.rules.moved_after;
}

Resources PlanState::spare(std::optional<std::size_t> without, bool for_loss) const {
  std::vector<char> counted(fleet.nodes.size());
  Resources covering;
  for (std::size_t row = 0; row < counted.size(); ++row) {
    counted[row] = available(row) && row != without;
    if (node(row).record.state != PowerState::asleep || counted[row] || !wakes_in_time(row)) continue;
    covering.cpu_cores += fleet.nodes[row].allocatable.cpu_cores;
    covering.memory_bytes += fleet.nodes[row].allocatable.memory_bytes;
  }
  return spare_needed(fleet, counted, largest_pending_, for_loss ? std::optional(covering) : std::nullopt,
                      config.rules);
}

}  // namespace wattle::placement::sleep
