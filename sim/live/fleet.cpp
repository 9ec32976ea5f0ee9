#include "sim/live/fleet.hpp"

#include <algorithm>
#include <cmath>

#include "common/stats/exact_split.hpp"
#include "common/stats/quantile.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::live {

namespace {

constexpr std::uint64_t kMaxCgroupId = (std::uint64_t{1} << 53) - 1;
constexpr double kSystemMemoryRatio = 0.05;
constexpr double kPodMemoryOfRequest = 0.7;

// Returns the same cgroup id for the same pod at all times; never 0.
std::uint64_t cgroup_id_of(const std::string& uid) { return (hash_of(uid) & kMaxCgroupId) | 1U; }

wire::Placement placement_of(const FleetPod& pod, bool gone) {
  wire::Placement placement;
  placement.pod_uid = pod.uid;
  placement.node = pod.node;
  placement.gone = gone;
  placement.cgroup_id = cgroup_id_of(pod.uid);
  return placement;
}

}  // namespace

Fleet::Fleet(std::vector<ServerModel> servers, const FleetOptions& options, MonoTime now)
    : options_(options), start_(now) {
  Random random(mix(options.seed, 0x6c697665ULL));
  nodes_.resize(servers.size());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    Node& node = nodes_[i];
    node.server = std::move(servers[i]);
    if (can_sleep()) node.power = ServerSwitch(options.sleep_speedup);
    node.background_cores = node.server.cores * uniform(random, 0.005, 0.03);
    node.base_latency_ms = uniform(random, options.latency_low_ms, options.latency_high_ms);
    node.advanced = node.sampled = now;
    index_[node.server.name] = i;
  }
}

std::optional<std::size_t> Fleet::index_of(const std::string& node) const {
  const auto found = index_.find(node);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

double Fleet::latency_ms(std::size_t node, MonoTime now) const {
  const double at_s = seconds(now - start_);
  std::size_t base = node;
  if (options_.rotate_every_s > 0) base = (node + static_cast<std::size_t>(at_s / options_.rotate_every_s)) % size();
  double latency = nodes_[base].base_latency_ms;
  double newest_s = -1;
  for (const LatencyShift& shift : options_.shifts) {
    if (shift.node != nodes_[node].server.name || shift.at_s > at_s || shift.at_s < newest_s) continue;
    newest_s = shift.at_s;
    latency = shift.latency_ms;
  }
  return latency;
}

double Fleet::wanted_cores(const Node& node) {
  double wanted = node.background_cores;
  for (const Running& running : node.pods) wanted += running.pod.demand_cores;
  return wanted;
}

double Fleet::power_w(std::size_t node) const {
  if (!runs(node)) return nodes_[node].power.power_w();
  return nodes_[node].server.watts_at(wanted_cores(nodes_[node]) / nodes_[node].server.cores);
}

double Fleet::energy_j(std::size_t node, MonoTime now) const {
  return nodes_[node].total_j + power_w(node) * std::max(0.0, seconds(now - nodes_[node].advanced));
}

std::vector<FleetPod> Fleet::list() const {
  std::vector<FleetPod> pods;
  for (const Node& node : nodes_)
    for (const Running& running : node.pods) pods.push_back(running.pod);
  std::sort(pods.begin(), pods.end(), [](const FleetPod& a, const FleetPod& b) { return a.uid < b.uid; });
  return pods;
}

void Fleet::advance(Node& node, MonoTime now) {
  while (node.advanced < now) {
    run_until(node, std::min(now, node.power.next()));
    if (node.power.pass(node.advanced)) boot(node, node.advanced);
  }
}

// Its agent starts from scratch, and its pods start again.
void Fleet::boot(Node& node, MonoTime now) {
  node.seq = 0;
  node.sampled = now;
  node.ended.clear();
  node.round_trips_ms.clear();
  for (Running& running : node.pods) running.usage_s = 0;
  node.background_s = node.energy_j = node.stalled_s = 0;
}

void Fleet::turn(std::size_t index, bool on, MonoTime now) {
  Node& node = nodes_[index];
  advance(node, now);
  on ? node.power.turn_on(now) : node.power.turn_off(now);
}

void Fleet::follow(MonoTime now) {
  for (Node& node : nodes_)
    if (now >= node.power.next()) advance(node, now);
}

// Its power state is the same up to that time.
void Fleet::run_until(Node& node, MonoTime now) {
  const double dt_s = seconds(now - node.advanced);
  node.advanced = now;
  if (node.power.state() != ServerSwitch::State::on) {
    node.total_j += node.power.power_w() * dt_s;
    return;
  }
  const double wanted = wanted_cores(node);
  const double share = wanted > node.server.cores ? node.server.cores / wanted : 1.0;
  for (Running& running : node.pods) running.usage_s += running.pod.demand_cores * share * dt_s;
  node.background_s += node.background_cores * share * dt_s;
  const double used_j = node.server.watts_at(wanted / node.server.cores) * dt_s;
  node.energy_j += used_j;
  node.total_j += used_j;
  // Waiting begins before the cores are full, because demand is uneven.
  const double stalled_s = std::clamp((wanted / node.server.cores - 0.7) / 0.8, 0.0, 1.0) * dt_s;
  node.stalled_s += stalled_s;
  node.pod_s += static_cast<double>(node.pods.size()) * dt_s;
  node.waited_pod_s += static_cast<double>(node.pods.size()) * stalled_s;
}

Result<wire::Placement> Fleet::bind(const FleetPod& pod, MonoTime now) {
  const auto at = index_of(pod.node);
  if (!at) return fail(Errc::not_found, pod.node, "no such simulated node", "GET /nodes lists them");
  if (const auto known = where_.find(pod.uid); known != where_.end()) {
    const std::string& there = nodes_[known->second].server.name;
    if (known->second != *at) return fail(Errc::conflict, pod.uid, "is already bound to " + there);
    return placement_of(pod, false);
  }
  Node& node = nodes_[*at];
  if (node.pods.size() >= options_.pods_per_node)
    return fail(Errc::exhausted, pod.node, "holds " + std::to_string(node.pods.size()) + " pods already");
  advance(node, now);
  node.pods.push_back({pod, cgroup_id_of(pod.uid), now, 0});
  where_[pod.uid] = *at;
  return placement_of(pod, false);
}

Result<wire::Placement> Fleet::unbind(const std::string& uid, MonoTime now) {
  const auto known = where_.find(uid);
  if (known == where_.end()) return fail(Errc::not_found, uid, "no such pod", "GET /pods lists them");
  Node& node = nodes_[known->second];
  advance(node, now);
  const auto running =
      std::find_if(node.pods.begin(), node.pods.end(), [&](const Running& r) { return r.pod.uid == uid; });
  wire::Placement placement = placement_of(running->pod, true);
  node.ended.push_back(std::move(*running));
  node.pods.erase(running);
  where_.erase(known);
  return placement;
}

std::vector<wire::Placement> Fleet::bound_to(std::size_t node) const {
  std::vector<wire::Placement> bound;
  for (const Running& running : nodes_[node].pods) bound.push_back(placement_of(running.pod, false));
  return bound;
}

std::vector<wire::Placement> Fleet::expire(MonoTime now) {
  std::vector<std::string> over;
  for (const Node& node : nodes_)
    for (const Running& running : node.pods)
      if (running.pod.lifetime_s && seconds(now - running.born) >= *running.pod.lifetime_s)
        over.push_back(running.pod.uid);
  std::vector<wire::Placement> gone;
  for (const std::string& uid : over)
    if (auto placement = unbind(uid, now)) gone.push_back(std::move(*placement));
  return gone;
}

void Fleet::split_energy(Node& node, double interval_s, Record& record) const {
  const std::size_t i = index_.at(node.server.name);
  const std::uint64_t stream = mix(mix(options_.seed, i), node.seq);
  const double noise = std::max(0.5, 1 + options_.power_noise_ratio * normal_of(stream, mix(stream, 1)));
  const auto total_uj = static_cast<std::uint64_t>(std::llround(node.energy_j * noise * 1e6));
  const double idle_j = node.server.watts[0] * interval_s * noise;
  const std::uint64_t idle_uj = std::min(total_uj, static_cast<std::uint64_t>(std::llround(idle_j * 1e6)));
  std::vector<std::uint64_t> weights_us;
  const auto weigh = [&](double usage_s) {
    weights_us.push_back(static_cast<std::uint64_t>(std::llround(usage_s * 1e6)));
  };
  for (const Running& running : node.pods) weigh(running.usage_s);
  for (const Running& running : node.ended) weigh(running.usage_s);
  weigh(node.background_s);
  auto shares = stats::split_exactly(total_uj - idle_uj, weights_us);
  if (options_.services_per_node > 0) {
    const auto services =
        stats::split_exactly(shares.back(), std::vector<std::uint64_t>(options_.services_per_node, 1));
    shares.pop_back();
    shares.insert(shares.end(), services.begin(), services.end());
  }
  for (std::size_t w = 0; w < record.workloads.size(); ++w) record.workloads[w].energy_uj = shares[w];
  std::uint64_t given = idle_uj;
  for (std::size_t w = 0; w < record.workloads.size(); ++w) given += shares[w];
  record.node.energy_source = EnergySource::estimated;
  record.node.energy_uj = total_uj;
  record.node.idle_energy_uj = idle_uj;
  record.node.unattributed_energy_uj = total_uj - given;
  record.node.domains.push_back({"estimated", total_uj, false});
}

ProbeValues Fleet::probe(std::size_t node, MonoTime now) {
  const std::uint64_t stream = mix(mix(options_.seed, 0x70726f6265ULL + node), nodes_[node].seq);
  auto& window = nodes_[node].round_trips_ms;
  const double jitter = std::exp(0.08 * normal_of(stream, mix(stream, 2)));
  window.push_back(latency_ms(node, now) * jitter);
  while (window.size() > std::max<std::size_t>(1, options_.probe_window)) window.pop_front();
  double moved = 0;
  for (std::size_t i = 1; i < window.size(); ++i) moved += std::abs(window[i] - window[i - 1]);
  std::vector<double> sorted(window.begin(), window.end());
  std::sort(sorted.begin(), sorted.end());
  ProbeValues values;
  values.target = "default";
  values.p50_ms = stats::quantile_of_sorted(sorted, 0.5).value_or(0);
  values.p95_ms = stats::quantile_of_sorted(sorted, 0.95).value_or(0);
  if (window.size() > 1) values.jitter_ms = moved / static_cast<double>(window.size() - 1);
  values.sent = window.size();
  return values;
}

Record Fleet::sample(std::size_t index, MonoTime now) {
  Node& node = nodes_[index];
  advance(node, now);
  Record record;
  record.seq = ++node.seq;
  record.mono_ns = to_ns(now);
  const double interval_s = seconds(now - node.sampled);
  record.interval_ns = (now - node.sampled).count();
  node.sampled = now;

  double memory_bytes = kSystemMemoryRatio * node.server.memory_bytes;
  double used_s = node.background_s;
  const auto report = [&](const Running& running, bool ended) {
    WorkloadValues values;
    values.cgroup_id = running.cgroup_id;
    values.kind = WorkloadKind::pod;
    values.name = running.pod.uid;
    values.ended = ended;
    const double resident_bytes = ended ? 0 : kPodMemoryOfRequest * running.pod.memory_request_bytes;
    values.memory_bytes = static_cast<std::uint64_t>(resident_bytes);
    values.pids = ended ? 0 : 2;
    used_s += running.usage_s;
    memory_bytes += resident_bytes;
    if (interval_s > 0) {
      values.cpu_usage_us = static_cast<std::uint64_t>(running.usage_s * 1e6);
      values.pressure.cpu_some_ratio = std::clamp(node.stalled_s / interval_s, 0.0, 1.0);
    }
    record.workloads.push_back(std::move(values));
  };
  for (const Running& running : node.pods) report(running, false);
  for (const Running& running : node.ended) report(running, true);
  for (std::size_t i = 0; i < options_.services_per_node; ++i) {
    WorkloadValues& values = record.workloads.emplace_back();
    values.cgroup_id = i + 1;
    values.kind = WorkloadKind::service;
    values.name = "simulated-" + std::to_string(i) + ".service";
    values.memory_bytes = static_cast<std::uint64_t>(kSystemMemoryRatio * node.server.memory_bytes /
                                                     static_cast<double>(options_.services_per_node));
    values.pids = 3;
    if (interval_s > 0) {
      values.cpu_usage_us =
          static_cast<std::uint64_t>(node.background_s * 1e6 / static_cast<double>(options_.services_per_node));
      values.cpu_throttled_us = 0;
    }
  }

  record.node.cpu_cores = node.server.cores;
  record.node.memory_total_bytes = static_cast<std::uint64_t>(node.server.memory_bytes);
  record.node.memory_used_bytes = std::min(static_cast<std::uint64_t>(memory_bytes), *record.node.memory_total_bytes);
  if (interval_s > 0) {
    record.node.cpu_used_cores = std::min(used_s / interval_s, node.server.cores);
    record.node.pressure.cpu_some_ratio = std::clamp(node.stalled_s / interval_s, 0.0, 1.0);
    record.node.pressure.memory_some_ratio = 0;
    record.node.pressure.io_some_ratio = 0;
    split_energy(node, interval_s, record);
  }
  record.probes.push_back(probe(index, now));

  node.ended.clear();
  for (Running& running : node.pods) running.usage_s = 0;
  node.background_s = node.energy_j = node.stalled_s = 0;
  return record;
}

}  // namespace wattle::sim::live
