// world_telemetry: the agents' reports of the world, and the view and outcomes derived from them.
#include <algorithm>
#include <utility>

#include "placement/worth/features.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

const World::Held& World::held(Node& node) const {
  if (node.held) return *node.held;
  Held held;
  held.memory_bytes = 0.04 * node.spec.server.memory_bytes;
  for (const Hosted& each : node.pods) {
    held.memory_bytes += each.running->pod.memory_used_bytes;
    held.io += each.running->pod.io;
  }
  return node.held.emplace(held);
}

World::AgentReport World::measure(std::size_t i) {
  kernel_.settle(i, *this);
  Node& node = nodes_[i];
  const auto& machine = kernel_.node(i);
  const double dt_s = options_.telemetry_period_s;
  const auto mean = [&](double cluster::Totals::*what) { return (machine.total.*what - node.sampled.*what) / dt_s; };
  AgentReport reported;
  reported.at = now();
  reported.power_w =
      std::max(0.0, mean(&cluster::Totals::energy_j) * (1 + options_.power_noise_ratio * normal(random_)));
  reported.used_cores = mean(&cluster::Totals::used_core_s);
  reported.pressure_ratio = mean(&cluster::Totals::shown_pressure_s);
  const double latency_ms = (node.latency_ms_s - node.latency_sampled_ms_s) / dt_s;
  reported.latency_ms = std::max(0.01, latency_ms * (1 + options_.latency_noise_ratio * normal(random_)));
  // A sleeping node does not measure: the last value stays.
  if (machine.power != Power::awake && node.reported) reported.latency_ms = node.reported->latency_ms;
  reported.pods = std::exchange(node.spare, {});
  reported.pods.clear();
  if (observer_ != nullptr) reported.pods.reserve(node.pods.size());
  const MonoTime ran_since = now() - from_seconds(dt_s);
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    Hosted& pod = node.pods[k];
    if (observer_ != nullptr && machine.pods[k].placed <= ran_since) {
      // Without pairs all pods of a node wait equally.
      const double waited =
          node.waited.empty() ? reported.pressure_ratio : (node.waited[k].s - node.waited[k].at_sample_s) / dt_s;
      reported.pods.push_back(
          {machine.pods[k].id, (pod.cpu_core_s - pod.cpu_at_sample_core_s) / dt_s, pod.memory_bytes, waited});
    }
    pod.cpu_at_sample_core_s = pod.cpu_core_s;
  }
  for (Waited& each : node.waited) each.at_sample_s = each.s;
  reported.memory_used_bytes = std::min(held(node).memory_bytes, node.spec.server.memory_bytes);
  if (machine.power == Power::awake) reported.io = held(node).io;
  const NodeSpec& spec = node.spec;
  reported.io = {std::min(reported.io.net_rx, spec.net_bytes_per_s), std::min(reported.io.net_tx, spec.net_bytes_per_s),
                 std::min(reported.io.disk_read, spec.disk_bytes_per_s),
                 std::min(reported.io.disk_write, spec.disk_bytes_per_s)};
  reported.tcp_established = 2 + 4 * node.pods.size();
  reported.asleep = machine.power == Power::asleep;
  reported.steady = node.steady;
  node.steady = machine.power == Power::awake;
  node.sampled = machine.total;
  node.latency_sampled_ms_s = node.latency_ms_s;
  return reported;
}

// An agent knows how much its node is used and whether it sleeps.
void World::split_rack_meter(std::vector<AgentReport>& batch) const {
  if (options_.datasheet_times.empty()) return;
  double metered_w = 0, estimated_w = 0;
  std::vector<double> estimates_w;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ServerModel& server = nodes_[i].spec.server;
    estimates_w.push_back(batch[i].asleep
                              ? server.sleep_w
                              : options_.datasheet_times[i] * server.watts_at(batch[i].used_cores / server.cores));
    metered_w += batch[i].power_w;
    estimated_w += estimates_w.back();
  }
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].power_w = metered_w * estimates_w[i] / estimated_w;
}

void World::sample() {
  std::vector<AgentReport> batch;
  batch.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) batch.push_back(measure(i));
  split_rack_meter(batch);
  judge_balance(batch);
  lie(batch);
  for (std::size_t i = 0; i < nodes_.size(); ++i) batch[i].silent = silent(i);
  sample_windows(batch);
  on_the_way_.push_back(std::move(batch));
}

// Searches from the end, because observed pods arrived last.
double World::cpu_core_s(cluster::PodId pod) const {
  const std::size_t node = kernel_.node_of(pod);
  const auto& pods = kernel_.node(node).pods;
  const auto found = std::find_if(pods.rbegin(), pods.rend(), [pod](const auto& each) { return each.id == pod; });
  return nodes_[node].pods[static_cast<std::size_t>(pods.rend() - found) - 1].cpu_core_s;
}

void World::sample_windows(const std::vector<AgentReport>& batch) {
  for (auto& [id, window] : windows_) {
    if (!window.from) continue;
    const AgentReport& reported = batch[kernel_.node_of(window.pod)];
    const double cpu_core_s = this->cpu_core_s(window.pod);
    // Uses only reported intervals that the pod ran through: the one of its arrival would dilute the mean.
    if (!reported.silent && reported.at - *window.from >= from_seconds(options_.telemetry_period_s)) {
      ++window.samples;
      window.power_w += reported.power_w;
      window.used_cores += reported.used_cores;
      window.pod_cores += (cpu_core_s - window.cpu_at_sample_core_s) / options_.telemetry_period_s;
      window.pressure_ratio += reported.pressure_ratio;
      window.latency_ms += reported.latency_ms;
    }
    window.cpu_at_sample_core_s = cpu_core_s;
  }
}

void World::deliver() {
  std::vector<AgentReport> batch = std::move(on_the_way_.front());
  on_the_way_.pop_front();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (batch[i].silent) continue;
    Node& node = nodes_[i];
    if (node.reported) node.spare = std::move(node.reported->pods);
    node.reported = std::move(batch[i]);
    node.shown = false;
    if (node.reported->steady && !options_.curves_known)
      node.curve.observe(node.reported->used_cores / node.spec.server.cores, node.reported->power_w);
    if (observer_ != nullptr) observer_->used(node.reported->pods, options_.telemetry_period_s);
  }
  if (observer_ != nullptr) observer_->reported(*this);
}

void World::settle(std::uint64_t decision_id) {
  const auto found = windows_.find(decision_id);
  if (found == windows_.end()) return;
  Window window = std::move(found->second);
  windows_.erase(found);
  if (window.samples == 0) return;  // it was never reported
  const Node& node = nodes_[kernel_.node_of(window.pod)];
  const auto n = static_cast<double>(window.samples);

  placement::RawOutcome& outcome = window.outcome;
  outcome.mean_power_w = window.power_w / n;
  outcome.latency_ms = window.latency_ms / n;
  outcome.cpu_some_ratio = window.pressure_ratio / n;
  const double cores = node.spec.server.cores;
  const double used_ratio = window.used_cores / n / cores, own_ratio = window.pod_cores / n / cores;
  if (window.woke) {
    // Without this pod the node would sleep; later pods have their own cost.
    const double others_w = std::max(0.0, node.curve.watts(used_ratio) - node.curve.watts(own_ratio));
    outcome.marginal_w = *outcome.mean_power_w - window.asleep_w - others_w;
  } else {
    outcome.marginal_w = *outcome.mean_power_w - node.curve.watts(std::max(0.0, used_ratio - own_ratio));
  }
  std::vector<placement::WorkerAfter> workers;
  workers.reserve(nodes_.size());
  for (const Node& each : nodes_) {
    placement::WorkerAfter after;
    if (each.reported) {
      after.cpu_pct = 100 * each.reported->used_cores / each.spec.server.cores;
      after.memory_pct = 100 * each.reported->memory_used_bytes / each.spec.server.memory_bytes;
      after.net_rx_pct = 100 * each.reported->io.net_rx / each.spec.net_bytes_per_s;
      after.net_tx_pct = 100 * each.reported->io.net_tx / each.spec.net_bytes_per_s;
      after.disk_read_pct = 100 * each.reported->io.disk_read / each.spec.disk_bytes_per_s;
      after.disk_write_pct = 100 * each.reported->io.disk_write / each.spec.disk_bytes_per_s;
    }
    workers.push_back(after);
  }
  outcome.deviations_pct = placement::deviations_pct(workers);
  settled_.push_back({decision_id, std::move(outcome)});
}

// Sets the constant parts of the view.
void World::name_nodes() {
  view_.nodes.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeSpec& spec = nodes_[i].spec;
    placement::NodeView& seen = view_.nodes[i];
    seen.name = spec.server.name;
    seen.zone = spec.zone;
    seen.link_bytes_per_s = spec.net_bytes_per_s;
    seen.disk_bytes_per_s = spec.disk_bytes_per_s;
    seen.allocatable = {spec.server.cores, spec.server.memory_bytes};
    seen.pod_capacity = static_cast<std::uint64_t>(options_.pod_capacity);
  }
}

void World::show_reported(std::size_t i) const {
  const Node& node = nodes_[i];
  if (std::exchange(node.shown, true)) return;
  placement::NodeView& seen = view_.nodes[i];
  seen.curve = node.curve;
  if (!node.reported) return;
  const AgentReport& reported = *node.reported;
  seen.power_w = reported.power_w;
  seen.latency_ms["default"] = reported.latency_ms;
  seen.values.cpu_used_cores = reported.used_cores;
  seen.values.cpu_cores = node.spec.server.cores;
  seen.values.memory_used_bytes = static_cast<std::uint64_t>(reported.memory_used_bytes);
  seen.values.memory_total_bytes = static_cast<std::uint64_t>(node.spec.server.memory_bytes);
  seen.values.tcp_established = reported.tcp_established;
  seen.values.net_rx_bytes_per_s = reported.io.net_rx;
  seen.values.net_tx_bytes_per_s = reported.io.net_tx;
  seen.values.disk_read_bytes_per_s = reported.io.disk_read;
  seen.values.disk_write_bytes_per_s = reported.io.disk_write;
  seen.values.pressure.cpu_some_ratio = reported.pressure_ratio;
  seen.values.energy_source = EnergySource::estimated;
  seen.values.energy_uj = static_cast<std::uint64_t>(reported.power_w * options_.telemetry_period_s * 1e6);
}

const placement::ClusterView& World::view(const placement::PodSpec& pod, std::uint64_t pending_pods) const {
  const auto known = apps_.find(pod.app);
  const std::size_t app = known != apps_.end() ? known->second : apps_.size();
  const MonoTime started = now() - from_seconds(options_.start_window_s);
  view_.now = now();
  view_.pending_pods = pending_pods;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    show_reported(i);
    const Node& node = nodes_[i];
    const auto& pods = kernel_.node(i).pods;  // oldest first
    placement::NodeView& seen = view_.nodes[i];
    seen.ready = node.ready;
    // Values from the API server: bindings are known at once.
    seen.requested = {static_cast<double>(node.kube.requested_milli_cpu) / 1000,
                      static_cast<double>(node.kube.requested_memory_bytes)};
    seen.pods = node.pods.size();
    seen.same_app_pods = app < node.pods_of_app.size() ? node.pods_of_app[app] : 0;
    seen.owner_pods = pod.owner.empty() ? 0 : seen.same_app_pods;
    seen.starts = 0;
    while (seen.starts < pods.size() && pods[pods.size() - seen.starts - 1].placed > started) ++seen.starts;
    std::size_t settled = node.reported ? pods.size() : 0;
    if (node.reported) {
      seen.telemetry_age = now() - node.reported->at;
      const MonoTime from = node.reported->at - from_seconds(options_.telemetry_period_s);
      while (settled > 0 && pods[settled - 1].placed >= from) --settled;
    }
    seen.unsettled = pods.size() - settled;
    seen.unsettled_cpu_cores = 0;
    for (std::size_t k = settled; k < pods.size(); ++k)
      seen.unsettled_cpu_cores += placement::demand_cores(node.pods[k].running->pod.spec);
    // The power manager knows which nodes sleep and the cost of waking.
    seen.asleep = kernel_.node(i).power == Power::asleep;
    seen.wake_cost_j = options_.idle_nodes_sleep ? node.spec.server.wake_energy_j : 0;
  }
  return view_;
}

}  // namespace wattle::sim
