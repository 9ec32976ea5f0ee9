#include "sim/live/ledger.hpp"

#include <cassert>
#include <limits>

#include "sim/live/server_switch.hpp"

namespace wattle::sim::live {

namespace {

std::vector<cluster::Machine> machines_of(const std::vector<DriveNode>& nodes) {
  std::vector<cluster::Machine> machines;
  for (const DriveNode& node : nodes) {
    machines.push_back(machine_of(node.server));
    machines.back().blocked_cores = node.background_cores;
  }
  return machines;
}

}  // namespace

Ledger::Ledger(const std::vector<DriveNode>& nodes) : nodes_(nodes), kernel_(machines_of(nodes), {}) {
  for (const DriveNode& node : nodes_) {
    KubeNode kube;
    kube.allocatable_milli_cpu = static_cast<std::int64_t>(node.server.cores * 1000);
    kube.allocatable_memory_bytes = static_cast<std::int64_t>(node.server.memory_bytes);
    kube.allocatable_pods = static_cast<std::int64_t>(node.pod_limit);
    kube_.push_back(kube);
  }
}

void Ledger::place(std::size_t node, const LedgerPod& pod) {
  assert(node < nodes_.size());
  if (!pods_.emplace(pod.uid, Placed{pods_made_, pod}).second) return;
  add_pod(kube_[node], pod.request);
  kernel_.place(pods_made_++, node, pod.demand_cores, std::numeric_limits<double>::infinity(), none_);
  ++costs_.placements;
  const auto latency_ms = nodes_[node].latency_ms;
  if (!latency_ms) return;
  if (pod.latency_soft_ms && *latency_ms > *pod.latency_soft_ms) ++costs_.above_soft;
  if (pod.latency_hard_ms && *latency_ms > *pod.latency_hard_ms) ++costs_.above_hard;
}

void Ledger::remove(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Placed& placed = found->second;
  remove_pod(kube_[kernel_.node_of(placed.id)], placed.pod.request);
  kernel_.remove(placed.id, none_);
  pods_.erase(found);
}

void Ledger::set_latencies(const std::vector<DriveNode>& nodes) {
  assert(nodes.size() == nodes_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes_[i].latency_ms = nodes[i].latency_ms;
}

void Ledger::set_power(const std::vector<DriveNode>& nodes) {
  assert(nodes.size() == nodes_.size());
  // A lower counter means that the swarm was restarted.
  const auto more = [](std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const DrivePower& power = nodes[i].power;
    const std::uint64_t shutdowns = more(power.shutdowns, nodes_[i].power.shutdowns);
    const std::uint64_t boots = more(power.boots, nodes_[i].power.boots);
    costs_.shutdowns += shutdowns;
    costs_.boots += boots;
    costs_.transitions_j += static_cast<double>(shutdowns) * ServerSwitch::shutdown_j() +
                            static_cast<double>(boots) * ServerSwitch::boot_j();
    nodes_[i].power = power;
  }
}

void Ledger::advance(double dt_s) {
  if (!(dt_s > 0)) return;
  costs_.seconds += dt_s;
  kernel_.advance_to(kernel_.now() + dt_s, none_);
  kernel_.settle(none_);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].power.resting_w) resting_j_ += (*nodes_[i].power.resting_w - kernel_.node(i).power_w) * dt_s;
  costs_.energy_j = kernel_.energy_j() + resting_j_ + costs_.transitions_j;
  for (const DriveNode& node : nodes_)
    costs_.idle_energy_j += node.server.watts_at(node.background_cores / node.server.cores) * dt_s;
  for (const auto& [uid, placed] : pods_) {
    const auto latency_ms = nodes_[kernel_.node_of(placed.id)].latency_ms;
    if (!latency_ms) continue;
    if (placed.pod.latency_soft_ms && *latency_ms > *placed.pod.latency_soft_ms) costs_.soft_pod_seconds += dt_s;
    if (placed.pod.latency_hard_ms && *latency_ms > *placed.pod.latency_hard_ms) costs_.hard_pod_seconds += dt_s;
  }
}

}  // namespace wattle::sim::live
