#include "lab/bench/sleep_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "placement/decide/policies/kube_scoring.hpp"

namespace wattle::sim::consolidation {

namespace power = placement::sleep;

namespace {

using Kind = power::PowerEvent::Kind;
using power::PowerState;

const WallTime kMidnight = wall_from_ns(1'799'971'200'000'000'000);

// A server's transitions: the published joules of a server that idles at 95 W, in proportion to its idle power.
power::TransitionCost transitions(const ServerModel& server, power::Depth depth) {
  constexpr double kPublishedIdle_w = 95;
  const double idle_w = server.watts.front();
  power::TransitionCost cost = power::usual_cost(depth, idle_w);
  if (depth == power::Depth::off) {
    cost.sleep_j *= idle_w / kPublishedIdle_w;
    cost.wake_j *= idle_w / kPublishedIdle_w;
  }
  return cost;
}

std::vector<cluster::Machine> machines(const SleepEpisode& episode) {
  std::vector<cluster::Machine> all;
  for (const ServerModel& server : episode.cluster.servers) all.push_back(machine_of(server));
  return all;
}

}  // namespace

SleepCluster::SleepCluster(const SleepEpisode& episode, power::Depth depth, bool sleeps_through, BindBy bind_by)
    : episode_(episode),
      sleeps_through_(sleeps_through),
      bind_by_(bind_by),
      ties_(mix(episode.cluster.options.cluster_seed.value_or(0), 0x74696573ULL)),
      kernel_(machines(episode), {}) {
  make_nodes(depth);
  waited_s_.assign(episode_.cluster.pods.size(), -1);
  running_.resize(episode_.cluster.pods.size());
}

void SleepCluster::make_nodes(power::Depth depth) {
  for (const ServerModel& server : episode_.cluster.servers) {
    placement::FleetNode there;
    there.allocatable = {server.cores, server.memory_bytes};
    there.watts = server.watts;
    there.pod_capacity = 1000;
    fleet_.nodes.push_back(there);
    Node& node = nodes_.emplace_back();
    node.cost = transitions(server, depth);
    power::SleepNode row;
    row.name = server.name;
    row.facts.mode = power::SleepMode::automatic;
    row.facts.can_sleep = row.facts.can_wake = true;
    row.facts.depth = depth;
    row.record.node = row.name;
    row.record.state = PowerState::awake;
    row.record.since = kMidnight;
    row.record.depth = depth;
    row.record.round_trips = power::SleepRules{}.proven_round_trips;
    row.record.measured = {node.cost.sleep_s, node.cost.sleep_j, node.cost.wake_s, node.cost.wake_j,
                           node.cost.asleep_w};
    row.order = placement::packing_w(there, kPodRequest);
    rows_.push_back(std::move(row));
  }
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return rows_[a].order < rows_[b].order; });
}

WallTime SleepCluster::wall() const { return kMidnight + from_seconds(now_s_); }

double SleepCluster::demand(cluster::PodId id) const {
  const auto slot = static_cast<std::size_t>(now_s_ / kSample_s) % kDaySamples;
  return pod(id).times * static_cast<double>(episode_.cluster.day->cores[pod(id).machine][slot]);
}

std::size_t SleepCluster::row_of(const std::string& name) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const power::SleepNode& row) { return row.name == name; });
  return static_cast<std::size_t>(found - rows_.begin());
}

std::size_t SleepCluster::pods() const {
  std::size_t sum = 0;
  for (std::size_t row = 0; row < nodes_.size(); ++row) sum += kernel_.node(row).pods.size();
  return sum;
}

void SleepCluster::ended(cluster::PodId id, std::size_t row, std::size_t /*position*/) {
  Node& node = nodes_[row];
  node.requested.cpu_cores -= pod(id).request.cpu_cores;
  node.requested.memory_bytes -= pod(id).request.memory_bytes;
  if (empty(row)) node.empty_from_s = kernel_.now();
  if (moving_) return;
  requested_cores_ -= pod(id).request.cpu_cores;
  running_[index(id)].node = cluster::kNowhere;
}

void SleepCluster::report(std::size_t row, const power::PowerEvent& event) {
  const power::PowerStep step = power::step(rows_[row].record, event, wall(), limits_);
  rows_[row].record = step.record;
  act(row, step.action);
}

void SleepCluster::flat(std::size_t row, double watts) {
  cluster::Watts same{};
  same.fill(watts);
  kernel_.set_watts(row, same, *this);
}

void SleepCluster::act(std::size_t row, power::PowerAction action) {
  Node& node = nodes_[row];
  switch (action) {
    case power::PowerAction::mark:
      return report(row, {Kind::marked});
    case power::PowerAction::unmark:
      return report(row, {Kind::unmarked});
    case power::PowerAction::sleep:
      node.until_s = now_s_ + node.cost.sleep_s;
      node.on = false;
      node.ordered_s = now_s_;
      return flat(row, node.cost.sleep_j / node.cost.sleep_s);
    case power::PowerAction::wake:
      node.until_s = now_s_ + node.cost.wake_s;
      return flat(row, node.cost.wake_j / node.cost.wake_s);
    default:
      return;
  }
}

void SleepCluster::count_sleep(std::size_t row) {
  Node& node = nodes_[row];
  node.empty_from_s = now_s_;
  if (!measured()) return;
  figures_.sleeps += 1;
  if (power::saved_j(node.cost, fleet_.nodes[row].idle_w(), now_s_ - node.ordered_s) < 0) figures_.losing += 1;
}

void SleepCluster::finish_transitions() {
  for (std::size_t row = 0; row < nodes_.size(); ++row) {
    Node& node = nodes_[row];
    if (node.until_s > now_s_) continue;
    node.until_s = std::numeric_limits<double>::infinity();
    if (rows_[row].record.state == PowerState::suspending) {
      flat(row, node.cost.asleep_w);
      report(row, {Kind::goodbye, rows_[row].record.operation});
      report(row, {Kind::observed, 0, power::Observed::off});
    } else if (rows_[row].record.state == PowerState::waking) {
      node.on = true;
      kernel_.set_watts(row, episode_.cluster.servers[row].watts, *this);
      report(row, {Kind::agent_returned});
      report(row, {Kind::ready});
      count_sleep(row);
    }
  }
}

void SleepCluster::finish_empty() {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const power::NodePowerRecord& record = rows_[row].record;
    const bool leaves = record.state == PowerState::idle || record.state == PowerState::draining;
    if (leaves && empty(row)) report(row, {Kind::drained, record.operation});
  }
}

void SleepCluster::end_gap(std::size_t row) {
  if (!sleeps_through_ || !measured()) return;
  const Node& node = nodes_[row];
  const double gap_s = now_s_ - std::max(node.empty_from_s, episode_.measure_from_s);
  const double saving_j = power::saved_j(node.cost, fleet_.nodes[row].idle_w(), gap_s);
  if (gap_s < node.cost.sleep_s + node.cost.wake_s || saving_j <= 0) return;
  figures_.sleeps += 1;
  figures_.energy_j -= saving_j;
}

bool SleepCluster::has_room(std::size_t row, const placement::Resources& request) const {
  constexpr double kRounding = 1e-9;
  const Node& node = nodes_[row];
  const placement::Resources& size = fleet_.nodes[row].allocatable;
  return node.requested.cpu_cores + node.reserved.cpu_cores + request.cpu_cores <= size.cpu_cores + kRounding &&
         node.requested.memory_bytes + node.reserved.memory_bytes + request.memory_bytes <= size.memory_bytes;
}

std::optional<std::size_t> SleepCluster::best_scored(const placement::Resources& request, bool is_awake) {
  const auto milli = [](double cores) { return static_cast<std::int64_t>(std::llround(1000 * cores)); };
  const auto bytes = [](double memory) { return static_cast<std::int64_t>(memory); };
  std::optional<std::size_t> best;
  std::int64_t highest = -1;
  std::size_t ties = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (awake(row) != is_awake || !has_room(row, request)) continue;
    const placement::Resources& size = fleet_.nodes[row].allocatable;
    const placement::Resources& used = nodes_[row].requested;
    placement::KubeNode node{milli(size.cpu_cores), bytes(size.memory_bytes)};
    node.requested_milli_cpu = node.nonzero_milli_cpu = milli(used.cpu_cores);
    node.requested_memory_bytes = node.nonzero_memory_bytes = bytes(used.memory_bytes);
    const std::int64_t score = placement::default_score(node, placement::kube_pod(request));
    if (score > highest) ties = 0;
    if (score < highest || pick(ties_, ++ties) != 0) continue;
    highest = score;
    best = row;
  }
  return best;
}

std::optional<std::size_t> SleepCluster::room(const Pod& pod, bool is_awake) {
  if (bind_by_ == BindBy::kube_default) return best_scored(pod.request, is_awake);
  for (const std::size_t row : order_)
    if (awake(row) == is_awake && has_room(row, pod.request)) return row;
  return std::nullopt;
}

void SleepCluster::bind(cluster::PodId id, std::size_t row, double left_s) {
  if (empty(row)) end_gap(row);
  nodes_[row].requested.cpu_cores += pod(id).request.cpu_cores;
  nodes_[row].requested.memory_bytes += pod(id).request.memory_bytes;
  running_[index(id)] = {id, row, now_s_ + left_s};
  kernel_.place(id, row, demand(id), left_s, *this);
}

void SleepCluster::arrive(std::size_t index) {
  requested_cores_ += pod(index).request.cpu_cores;
  if (measured()) figures_.pods += 1;
  if (const auto row = room(pod(index), true)) return bind(index, *row, pod(index).life_s);
  if (room(pod(index), false)) waited_s_[index] = 0;
  waiting_.push_back(index);
}

void SleepCluster::bind_waiting() {
  std::erase_if(waiting_, [&](std::size_t index) {
    const auto row = room(pod(index), true);
    if (!row) return false;
    bind(index, *row, pod(index).life_s);
    const double wait_s = now_s_ - pod(index).arrives_s;
    if (waited_s_[index] < 0) return true;
    waited_s_[index] = wait_s > 0 ? wait_s : -1;
    if (wait_s > 0 && pod(index).arrives_s >= episode_.measure_from_s) figures_.waits_s.push_back(wait_s);
    return true;
  });
}

void SleepCluster::move(std::size_t index, std::size_t target) {
  const Running was = running_[index];
  const placement::Resources request = pod(was.id).request;
  nodes_[target].reserved.cpu_cores -= request.cpu_cores;
  nodes_[target].reserved.memory_bytes -= request.memory_bytes;
  --nodes_[target].reserved_pods;
  const bool fits = awake(target) && has_room(target, request);
  const std::size_t row = fits ? target : room(pod(was.id), true).value_or(was.node);
  moving_ = true;
  kernel_.remove(was.id, *this);
  moving_ = false;
  bind(was.id + episode_.cluster.pods.size(), row, was.ends_s - now_s_);
}

void SleepCluster::repack() {
  std::vector<std::size_t> pods;
  for (auto row = order_.rbegin(); row != order_.rend(); ++row) {
    pods.clear();
    for (const auto& each : kernel_.node(*row).pods) pods.push_back(index(each.id));
    for (const std::size_t each : pods) {
      const auto target = room(pod(each), true);
      if (!target || std::find(order_.begin(), order_.end(), *target) >= row.base() - 1) continue;
      nodes_[*target].reserved.cpu_cores += pod(each).request.cpu_cores;
      nodes_[*target].reserved.memory_bytes += pod(each).request.memory_bytes;
      ++nodes_[*target].reserved_pods;
      move(each, *target);
    }
  }
}

power::SleepInputs SleepCluster::inputs() {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    placement::FleetNode& there = fleet_.nodes[row];
    const auto& pods = kernel_.node(row).pods;
    there.requested = {nodes_[row].requested.cpu_cores + nodes_[row].reserved.cpu_cores,
                       nodes_[row].requested.memory_bytes + nodes_[row].reserved.memory_bytes};
    there.used_cores = kernel_.node(row).wanted_cores;
    there.pods = pods.size() + nodes_[row].reserved_pods;
    rows_[row].ready = nodes_[row].on;
    rows_[row].pods.clear();
    for (const auto& each : pods) {
      const std::string name = std::to_string(index(each.id));
      rows_[row].pods.push_back({name,
                                 name,
                                 "app-" + std::to_string(pod(each.id).app),
                                 {pod(each.id).request, each.wanted_cores, episode_.cluster.options.life_s}});
    }
  }
  pending_.clear();
  for (const std::size_t each : waiting_) {
    const std::string name = std::to_string(each);
    pending_.push_back({name, name, {pod(each).request, placement::kDemandOfRequest * pod(each).request.cpu_cores, 0}});
  }
  power::SleepInputs in;
  in.now = wall();
  in.fleet = &fleet_;
  in.nodes = rows_;
  in.pending = pending_;
  return in;
}

double SleepCluster::next_s(double most_s) const {
  double next = std::min({most_s, next_slot_s_, episode_.end_s});
  for (const Node& node : nodes_) next = std::min(next, node.until_s);
  if (arrived_ < episode_.cluster.pods.size()) next = std::min(next, episode_.cluster.pods[arrived_].arrives_s);
  if (!waiting_.empty() && kernel_.due(next)) next = kernel_.next();
  return std::max(next, now_s_);
}

void SleepCluster::advance_to(double when_s) {
  if (!counts_ && when_s >= episode_.measure_from_s) {
    kernel_.advance_to(episode_.measure_from_s, *this);
    kernel_.settle(*this);
    kernel_.forget();
    counts_ = true;
  }
  kernel_.advance_to(when_s, *this);
  now_s_ = when_s;
  finish_transitions();
  if (now_s_ >= next_slot_s_) {
    next_slot_s_ += kSample_s;
    for (std::size_t row = 0; row < nodes_.size(); ++row)
      kernel_.want(
          row, [&](cluster::PodId id) { return demand(id); }, *this);
  }
  if (!waiting_.empty()) bind_waiting();
  while (arrived_ < episode_.cluster.pods.size() && episode_.cluster.pods[arrived_].arrives_s <= now_s_)
    arrive(arrived_++);
  finish_empty();
}

SleepFigures SleepCluster::finish() {
  for (std::size_t row = 0; row < nodes_.size(); ++row)
    if (empty(row)) end_gap(row);
  kernel_.settle(*this);
  figures_.energy_j += kernel_.energy_j();
  figures_.waiting_ratio = kernel_.pressure_pod_s() / std::max(1.0, kernel_.pod_s());
  figures_.node_days = static_cast<double>(nodes_.size()) * (episode_.end_s - episode_.measure_from_s) / 86'400;
  constexpr double kWhole_s = 3600;
  for (const Burst& burst : episode_.bursts) {
    if (burst.at_s < episode_.measure_from_s || burst.at_s > episode_.end_s - kWhole_s) continue;
    const auto waited = static_cast<std::size_t>(
        std::count_if(burst.pods.begin(), burst.pods.end(), [&](std::size_t pod) { return waited_s_[pod] >= 0; }));
    figures_.bursts += 1;
    if (20 * waited <= burst.pods.size()) figures_.bursts_awake += 1;
  }
  return figures_;
}

}  // namespace wattle::sim::consolidation
