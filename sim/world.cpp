#include "sim/world.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattle::sim {

World::World(WorldOptions options, WorldObserver* observer)
    : options_(std::move(options)), observer_(observer), random_(mix(options_.seed, 0x6e6f697365ULL)) {
  for (const NodeSpec& spec : options_.nodes) {
    Node node;
    node.spec = spec;
    node.kube.allocatable_milli_cpu = static_cast<std::int64_t>(spec.server.cores * 1000);
    node.kube.allocatable_memory_bytes = static_cast<std::int64_t>(spec.server.memory_bytes);
    node.kube.allocatable_pods = options_.pod_capacity;
    node.kube.requested_milli_cpu = node.kube.nonzero_milli_cpu = kube_pod({spec.blocked_cores, 0}).milli_cpu;
    node.curve = placement::PowerCurve::prior(spec.server.cores);
    nodes_.push_back(std::move(node));
    refresh(nodes_.back());
  }
  schedule_troubles();
  if (options_.idle_nodes_sleep) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      schedule(MonoTime(from_seconds(options_.sleep_after_s)), What::sleep, i, nodes_[i].generation);
  }
  schedule(MonoTime(from_seconds(options_.demand_slot_s)), What::slot);
  schedule(MonoTime(from_seconds(options_.telemetry_period_s)), What::sample);
}

void World::schedule(MonoTime at, What what, std::uint64_t who, std::uint64_t generation) {
  events_.push({at, events_made_++, what, who, generation});
}

void World::advance_to(double when_s) {
  const MonoTime when(from_seconds(when_s));
  while (!events_.empty() && events_.top().at <= when) {
    const Event event = events_.top();
    events_.pop();
    clock_.advance_to(event.at);
    handle(event);
  }
  clock_.advance_to(when);
}

void World::handle(const Event& event) {
  switch (event.what) {
    case What::pod_end:
      return drop(event.who);
    case What::woken: {
      Node& node = nodes_[event.who];
      if (node.generation != event.generation) return;
      integrate(node);
      node.power = Power::awake;
      ++node.generation;
      for (auto& [id, window] : windows_) {
        const auto pod = pods_.find(window.serial);
        if (pod == pods_.end() || pod->second.node != event.who || window.from) continue;
        window.from = now();
        schedule(now() + from_seconds(options_.settle_s + options_.telemetry_delay_s), What::settle, id);
      }
      refresh(node);
      if (node.pods.empty())
        schedule(now() + from_seconds(options_.sleep_after_s), What::sleep, event.who, node.generation);
      return;
    }
    case What::sleep: {
      Node& node = nodes_[event.who];
      if (node.generation != event.generation || !node.pods.empty()) return;
      integrate(node);
      node.power = Power::asleep;
      node.steady = false;
      return refresh(node);
    }
    case What::shift:
    case What::curve:
    case What::gone:
    case What::noticed:
    case What::back:
      return handle_trouble(event);
    case What::slot:
      run_slot();
      return schedule(event.at + from_seconds(options_.demand_slot_s), What::slot);
    case What::sample:
      sample();
      schedule(event.at + from_seconds(options_.telemetry_delay_s), What::deliver);
      return schedule(event.at + from_seconds(options_.telemetry_period_s), What::sample);
    case What::deliver:
      return deliver();
    case What::settle:
      return settle(event.who);
  }
}

void World::integrate(Node& node) {
  const double dt_s = seconds(now() - node.since);
  node.since = now();
  if (dt_s <= 0) return;
  node.total.energy_j += node.power_w * dt_s;
  node.total.used_core_s += node.used_cores * dt_s;
  node.total.pressure_s += node.pressure_ratio * dt_s;
  node.total.latency_ms_s += node.latency_ms * dt_s;
  figures_.energy_j += node.power_w * dt_s;
  if (node.power == Power::awake || node.power == Power::waking) figures_.awake_node_s += dt_s;
  if (node.wanted_cores > node.spec.crowded_ratio * node.spec.server.cores) figures_.crowded_node_s += dt_s;
  figures_.utilisation_s += dt_s * node.used_cores / node.spec.server.cores / static_cast<double>(nodes_.size());
  if (node.pods.empty()) return;
  figures_.active_node_s += dt_s;
  const double share = node.wanted_cores > 0 ? node.used_cores / node.wanted_cores : 0;
  for (Running* each : node.pods) {
    Running& running = *each;
    running.cpu_core_s += running.wanted_cores * share * dt_s;
    figures_.pod_s += dt_s;
    figures_.pressure_pod_s += node.pressure_ratio * dt_s;
    if (node.power == Power::waking) figures_.waking_pod_s += dt_s;
    if (node.power == Power::gone) figures_.stranded_pod_s += dt_s;
    figures_.failed_requests += running.failed_per_s * dt_s;
    if (running.requests_per_s > 0) {
      figures_.requests += running.requests_per_s * dt_s;
      figures_.response_s += running.requests_per_s * running.response_s * dt_s;
      figures_.response_ms.add(1000 * running.response_s, running.requests_per_s * dt_s);
    }
    if (!running.pod.spec.latency_soft_ms) continue;
    figures_.constrained_pod_s += dt_s;
    figures_.latency_ms.add(node.latency_ms, dt_s);
    if (node.latency_ms > *running.pod.spec.latency_soft_ms) figures_.late_pod_s += dt_s;
  }
}

void World::refresh(Node& node) {
  const ServerModel& server = node.spec.server;
  if (serving_ > 0) serve(node);
  node.wanted_cores = node.spec.blocked_cores;
  for (const Running* each : node.pods) node.wanted_cores += each->wanted_cores;
  const bool runs = node.power == Power::awake;
  node.used_cores = runs ? std::min(node.wanted_cores, server.cores) : 0;
  // Tenants wait from crowded_ratio on, and all the time once a quarter more is wanted than there is.
  const double wanted_ratio = node.wanted_cores / server.cores;
  const double crowd = (wanted_ratio - node.spec.crowded_ratio) / (1.25 - node.spec.crowded_ratio);
  node.pressure_ratio = runs ? std::clamp(crowd, 0.0, 1.0) : 0;
  node.latency_ms = node.spec.latency_ms * (1 + node.spec.latency_slope * node.pressure_ratio);
  switch (node.power) {
    case Power::awake:
      node.power_w = server.watts_at(node.used_cores / server.cores);
      break;
    case Power::asleep:
      node.power_w = server.sleep_w;
      break;
    case Power::waking:
      node.power_w = server.wake_energy_j / server.wake_time_s;
      break;
    case Power::gone:
      node.power_w = 0;
      break;
  }
}

void World::run_slot() {
  for (Node& node : nodes_) integrate(node);
  ++slot_;
  for (auto& [serial, running] : pods_)
    if (!running.pod.serves_users) running.wanted_cores = demand_cores(running.pod, slot_);
  for (Node& node : nodes_) refresh(node);
}

Status World::place(const SimPod& pod, std::size_t at, std::uint64_t decision_id, placement::RawOutcome outcome) {
  if (at >= nodes_.size()) return fail(Errc::not_found, "node " + std::to_string(at), "there is no such node");
  Node& node = nodes_[at];
  if (serial_of_.contains(pod.spec.uid)) return fail(Errc::conflict, pod.spec.uid, "is already running");
  const KubePod kube = kube_pod(pod.spec.request);
  if (!fits(node.kube, kube)) return fail(Errc::exhausted, node.spec.server.name, "the pod does not fit");

  integrate(node);
  Window window;
  window.decision_id = decision_id;
  window.outcome = std::move(outcome);
  if (node.power == Power::asleep) {
    window.woke = true;
    window.asleep_w = node.told ? node.told->power_w : 0;
    node.power = Power::waking;
    node.steady = false;
    ++figures_.wakes;
    schedule(now() + from_seconds(node.spec.server.wake_time_s), What::woken, at, ++node.generation);
  } else if (node.power == Power::awake) {
    ++node.generation;  // it is not about to sleep any more
    window.from = now();
    schedule(now() + from_seconds(options_.settle_s + options_.telemetry_delay_s), What::settle, decision_id);
  }
  const std::uint64_t serial = pods_made_++;
  window.serial = serial;
  windows_.insert_or_assign(decision_id, std::move(window));
  add_pod(node.kube, kube);
  serial_of_.emplace(pod.spec.uid, serial);
  Running& running = pods_[serial];
  running.serial = serial;
  running.uid = std::make_shared<const std::string>(pod.spec.uid);
  running.pod = pod;
  running.node = at;
  running.placed = now();
  running.wanted_cores = pod.serves_users ? 0 : demand_cores(pod, slot_);
  node.pods.push_back(&running);
  if (pod.serves_users) {
    ++serving_;
    ++replicas_[pod.spec.app];
  }
  if (std::isfinite(pod.life_s)) schedule(now() + from_seconds(pod.life_s), What::pod_end, serial);
  if (observer_ != nullptr) observer_->placed(pod.spec, node.spec.server.name, at, now());
  refresh(node);
  serving_changed(pod);
  return {};
}

Status World::remove(const std::string& uid) {
  const auto found = serial_of_.find(uid);
  if (found == serial_of_.end()) return fail(Errc::not_found, uid, "is not running");
  drop(found->second);
  return {};
}

void World::drop(std::uint64_t serial) {
  const auto found = pods_.find(serial);
  if (found == pods_.end()) return;  // removed before its time
  Running& running = found->second;
  Node& node = nodes_[running.node];
  integrate(node);
  std::erase(node.pods, &running);
  remove_pod(node.kube, kube_pod(running.pod.spec.request));
  if (node.pods.empty() && options_.idle_nodes_sleep && node.power == Power::awake)
    schedule(now() + from_seconds(options_.sleep_after_s), What::sleep, running.node, ++node.generation);
  std::erase_if(windows_, [&](const auto& entry) { return entry.second.serial == serial; });
  serial_of_.erase(running.pod.spec.uid);
  if (observer_ != nullptr) observer_->ended(running.pod.spec, running.node, now());
  const SimPod gone = std::move(running.pod);
  pods_.erase(found);
  if (gone.serves_users) {
    --serving_;
    --replicas_[gone.spec.app];
  }
  refresh(node);
  serving_changed(gone);
}

std::vector<std::string> World::running() const {
  std::vector<std::string> uids;
  uids.reserve(pods_.size());
  for (const auto& [serial, running] : pods_) uids.push_back(running.pod.spec.uid);
  return uids;
}

std::vector<KubeNode> World::kube_nodes() const {
  std::vector<KubeNode> nodes;
  nodes.reserve(nodes_.size());
  for (const Node& node : nodes_) nodes.push_back(node.kube);
  return nodes;
}

WorldFigures World::figures() {
  for (Node& node : nodes_) integrate(node);
  return figures_;
}

std::vector<Settled> World::take_settled() { return std::exchange(settled_, {}); }

}  // namespace wattle::sim
