#include "sim/world/world.hpp"

#include <algorithm>

namespace wattle::sim {

namespace {

std::vector<cluster::Machine> machines_of(const std::vector<NodeSpec>& nodes) {
  std::vector<cluster::Machine> machines;
  for (const NodeSpec& node : nodes) {
    cluster::Machine machine = machine_of(node.server);
    machine.blocked_cores = node.blocked_cores;
    machine.crowded_ratio = node.crowded_ratio;
    machine.waiting_times = node.waiting_times;
    machines.push_back(machine);
  }
  return machines;
}

double latency_of(const NodeSpec& spec, double waits) { return spec.latency_ms * (1 + spec.latency_slope * waits); }

}  // namespace

World::World(WorldOptions options, WorldObserver* observer)
    : options_(std::move(options)),
      observer_(observer),
      random_(mix(options_.seed, 0x6e6f697365ULL)),
      kernel_(machines_of(options_.nodes), {options_.idle_nodes_sleep, options_.sleep_after_s, false}, options_.pairs) {
  for (const NodeSpec& spec : options_.nodes) {
    Node node;
    node.spec = spec;
    node.kube.allocatable_milli_cpu = static_cast<std::int64_t>(spec.server.cores * 1000);
    node.kube.allocatable_memory_bytes = static_cast<std::int64_t>(spec.server.memory_bytes);
    node.kube.allocatable_pods = options_.pod_capacity;
    node.kube.requested_milli_cpu = node.kube.nonzero_milli_cpu = kube_pod({spec.blocked_cores, 0}).milli_cpu;
    const placement::PowerCurve* kept = options_.kept_curve ? options_.kept_curve(spec.server.name) : nullptr;
    node.curve = options_.curves_known ? placement::PowerCurve::known(spec.server.watts)
                 : kept != nullptr     ? *kept
                                       : placement::PowerCurve::prior(spec.server.cores);
    nodes_.push_back(std::move(node));
    changed(nodes_.size() - 1);
  }
  name_nodes();
  schedule_troubles();
  if (options_.pairs) kernel_.disturb(*this);
  schedule(MonoTime(from_seconds(options_.demand_slot_s)), What::slot);
  schedule(MonoTime(from_seconds(options_.telemetry_period_s)), What::sample);
}

void World::schedule(MonoTime at, What what, std::uint64_t who) { events_.push({at, events_made_++, what, who}); }

// At equal times, the machines' events come first.
void World::advance_to(double when_s) {
  const MonoTime when(from_seconds(when_s));
  while (kernel_.due(when) || events_.top().at <= when) {
    const MonoTime at = kernel_.due(events_.top().at) ? kernel_.next() : events_.top().at;
    clock_.advance_to(at);
    kernel_.advance_to(at, *this);
    if (events_.top().at != at) continue;
    const Event event = events_.top();
    events_.pop();
    handle(event);
  }
  clock_.advance_to(when);
  if (when > now()) kernel_.advance_to(when, *this);
}

void World::handle(const Event& event) {
  switch (event.what) {
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

void World::ran(std::size_t i, double dt_s) {
  Node& node = nodes_[i];
  const auto& machine = kernel_.node(i);
  const double cores = node.spec.server.cores;
  node.latency_ms_s += node.latency_ms * dt_s;
  if (machine.wanted_cores > node.spec.crowded_ratio * cores) figures_.crowded_node_s += dt_s;
  figures_.used_core_s += dt_s * machine.used_cores;
  figures_.work_core_s += dt_s * machine.work_cores;
  figures_.utilisation_s += dt_s * machine.used_cores / cores / static_cast<double>(nodes_.size());
  if (node.pods.empty()) return;
  figures_.active_node_s += dt_s;
  const bool paired = kernel_.has_pairs();
  const double share = machine.wanted_cores > 0 ? machine.used_cores / machine.wanted_cores : 0;
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    node.pods[k].cpu_core_s += machine.pods[k].wanted_cores * share * dt_s;
    if (paired) node.waited[k].s += kernel_.shows_waiting(i, k) * dt_s;
    if (machine.power == Power::waking) figures_.waking_pod_s += dt_s;
    if (machine.power == Power::gone) figures_.stranded_pod_s += dt_s;
    if (node.pods[k].plain) continue;
    const Running& running = *node.pods[k].running;
    figures_.failed_requests += running.failed_per_s * dt_s;
    if (running.requests_per_s > 0) {
      figures_.requests += running.requests_per_s * dt_s;
      figures_.response_s += running.requests_per_s * running.response_s * dt_s;
      figures_.response_ms.add(1000 * running.response_s, running.requests_per_s * dt_s);
    }
    if (!running.pod.spec.latency_soft_ms) continue;
    figures_.constrained_pod_s += dt_s;
    const double latency_ms = paired ? latency_of(node.spec, kernel_.waits(i, k)) : node.latency_ms;
    figures_.latency_ms.add(latency_ms, dt_s);
    if (latency_ms > *running.pod.spec.latency_soft_ms) figures_.late_pod_s += dt_s;
  }
}

void World::changed(std::size_t i) {
  Node& node = nodes_[i];
  if (serve(i)) kernel_.refresh(i);
  const auto& machine = kernel_.node(i);
  node.latency_ms = latency_of(node.spec, machine.pressure_ratio);
  if (machine.power != Power::awake) node.steady = false;
  if (!std::exchange(serving_changed_, false)) return;
  for (std::size_t each = 0; each < nodes_.size(); ++each) kernel_.update(each, *this);
}

void World::open_windows(std::size_t i) {
  for (auto& [id, window] : windows_) {
    if (kernel_.node_of(window.pod) != i || window.from) continue;
    window.from = now();
    schedule(outcome_at(), What::settle, id);
  }
}

MonoTime World::outcome_at() const {
  const Duration period = from_seconds(options_.telemetry_period_s), delay = from_seconds(options_.telemetry_delay_s);
  const Duration into = now().time_since_epoch() % period;
  const Duration reported = into == Duration::zero() ? period : 2 * period - into;
  const MonoTime window_ends = now() + from_seconds(options_.settle_s + options_.telemetry_delay_s);
  // Right after its report, if the window ends earlier.
  return std::max(window_ends, now() + reported + delay + Duration(1));
}

void World::run_slot() {
  kernel_.settle(*this);
  ++slot_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::size_t k = 0;
    kernel_.want(
        i,
        [&](cluster::PodId) {
          const double wanted = kernel_.node(i).pods[k].wanted_cores;
          const SimPod& pod = nodes_[i].pods[k++].running->pod;
          return pod.serves_users ? wanted : demand_cores(pod, slot_);
        },
        *this);
  }
}

Status World::place(const SimPod& pod, std::size_t at, std::uint64_t decision_id, placement::RawOutcome outcome) {
  if (at >= nodes_.size()) return fail(Errc::not_found, "node " + std::to_string(at), "unknown node");
  Node& node = nodes_[at];
  if (id_of_.contains(pod.spec.uid)) return fail(Errc::conflict, pod.spec.uid, "is already running");
  const KubePod kube = kube_pod(pod.spec.request);
  if (!fits(node.kube, kube)) return fail(Errc::exhausted, node.spec.server.name, "the pod does not fit");

  kernel_.settle(at, *this);
  const cluster::PodId id = pods_made_++;
  Window window;
  window.pod = id;
  window.outcome = std::move(outcome);
  const Power power = kernel_.node(at).power;
  if (power == Power::asleep) {
    window.woke = true;
    window.asleep_w = node.reported ? node.reported->power_w : 0;
  } else if (power == Power::awake) {
    window.from = now();
    schedule(outcome_at(), What::settle, decision_id);
  }
  windows_.insert_or_assign(decision_id, std::move(window));
  add_pod(node.kube, kube);
  id_of_.emplace(pod.spec.uid, id);
  Running& running = pods_[id];
  running.pod = pod;
  const std::size_t app = apps_.emplace(pod.spec.app, apps_.size()).first->second;
  if (app >= node.pods_of_app.size()) node.pods_of_app.resize(app + 1, 0);
  ++node.pods_of_app[app];
  const bool plain = !pod.serves_users && !pod.spec.latency_soft_ms;
  node.pods.push_back({&running, 0, 0, pod.memory_used_bytes, app, plain});
  if (options_.pairs) node.waited.emplace_back();
  node.held.reset();
  if (pod.serves_users) {
    ++serving_;
    ++replicas_[pod.spec.app];
    serving_changed_ = true;
  }
  if (observer_ != nullptr) observer_->placed(id, pod.spec, node.spec.server.name, at, now());
  kernel_.place(id, at, pod.serves_users ? 0 : demand_cores(pod, slot_), pod.life_s, *this, pod.app);
  return {};
}

Status World::remove(const std::string& uid) {
  const auto found = id_of_.find(uid);
  if (found == id_of_.end()) return fail(Errc::not_found, uid, "is not running");
  kernel_.remove(found->second, *this);
  return {};
}

Status World::resize(const std::string& uid, const placement::Resources& request) {
  const auto found = id_of_.find(uid);
  if (found == id_of_.end()) return fail(Errc::not_found, uid, "is not running");
  KubeNode& node = nodes_[kernel_.node_of(found->second)].kube;
  placement::Resources& has = pods_.at(found->second).pod.spec.request;
  remove_pod(node, kube_pod(has));
  has = request;
  add_pod(node, kube_pod(has));
  if (observer_ != nullptr) observer_->resized(uid, request);
  return {};
}

void World::ended(cluster::PodId id, std::size_t i, std::size_t position) {
  Node& node = nodes_[i];
  const auto found = pods_.find(id);
  const SimPod gone = std::move(found->second.pod);
  --node.pods_of_app[node.pods[position].app];
  node.pods.erase(node.pods.begin() + static_cast<std::ptrdiff_t>(position));
  if (options_.pairs) node.waited.erase(node.waited.begin() + static_cast<std::ptrdiff_t>(position));
  node.held.reset();
  pods_.erase(found);
  id_of_.erase(gone.spec.uid);
  remove_pod(node.kube, kube_pod(gone.spec.request));
  std::erase_if(windows_, [&](const auto& entry) { return entry.second.pod == id; });
  if (observer_ != nullptr) observer_->ended(gone.spec, i, now());
  if (!gone.serves_users) return;
  --serving_;
  --replicas_[gone.spec.app];
  serving_changed_ = true;
}

std::vector<std::string> World::running() const {
  std::vector<std::string> uids;
  uids.reserve(pods_.size());
  for (const auto& [id, running] : pods_) uids.push_back(running.pod.spec.uid);
  return uids;
}

std::vector<KubeNode> World::kube_nodes() const {
  std::vector<KubeNode> nodes;
  nodes.reserve(nodes_.size());
  for (const Node& node : nodes_) nodes.push_back(node.kube);
  return nodes;
}

WorldFigures World::figures() {
  kernel_.settle(*this);
  figures_.energy_j = kernel_.energy_j();
  figures_.awake_node_s = kernel_.awake_node_s();
  figures_.pod_s = kernel_.pod_s();
  figures_.pressure_pod_s = kernel_.pressure_pod_s();
  figures_.work_pod_s = kernel_.work_pod_s();
  figures_.wakes = kernel_.wakes();
  return figures_;
}

std::vector<Settled> World::take_settled() { return std::exchange(settled_, {}); }

}  // namespace wattle::sim
