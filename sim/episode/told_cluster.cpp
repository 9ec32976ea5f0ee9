#include "sim/episode/told_cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattle::sim::consolidation {

namespace {
constexpr std::uint32_t kSamplesPerHour = 12;
constexpr double kPriorSamples = 12;  // what a prediction weighs against the pod's own samples
constexpr std::size_t kExpectations = 50;

double half_load_w_per_core(const ServerModel& server) { return server.watts_at(0.5) / server.cores; }

// True watts over told ones, of each server.
std::vector<double> watts_times(const Episode& episode) {
  std::vector<double> told, times(episode.servers.size(), 1.0);
  for (const ServerModel& server : episode.servers) told.push_back(half_load_w_per_core(server));
  std::nth_element(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(told.size() / 2), told.end());
  const double median = told[told.size() / 2], odd = episode.options.shift.odd_watts;
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = half_load_w_per_core(episode.servers[i]) < median ? odd : 1 / odd;
  return times;
}

std::vector<cluster::Machine> machines_of(const Episode& episode, const std::vector<double>& times) {
  std::vector<cluster::Machine> machines;
  for (std::size_t i = 0; i < episode.servers.size(); ++i) {
    cluster::Machine machine = machine_of(episode.servers[i]);
    machine.interference = episode.options.shift.interference;
    for (double& each : machine.watts) each *= times[i];
    machines.push_back(machine);
  }
  return machines;
}
}  // namespace

Cluster::Cluster(const Episode& episode)
    : episode_(episode),
      kernel_(machines_of(episode, watts_times(episode)), {episode.options.sleep, kSleepAfter_s, true}),
      noise_(mix(episode.seed, 0x6e6f697365ULL)) {
  const Options& options = episode.options;
  assert(options.knowledge != ClusterModel::production);
  const std::vector<double> times = watts_times(episode);
  fleet_.idle_nodes_sleep = options.sleep;
  fleet_.pods_stay = !options.churn;
  fleet_.expected_cores = episode.expected_cores;
  fleet_.mean_request = episode.mean_request;
  fleet_.hold_s = options.churn ? options.life_s : kSample_s * static_cast<double>(kDaySamples);
  for (std::size_t i = 0; i < episode.servers.size(); ++i) {
    const ServerModel& server = episode.servers[i];
    nodes_.push_back({{}, placement::PowerCurve::prior(server.cores)});
    placement::FleetNode told;
    told.allocatable = {server.cores, server.memory_bytes};
    told.sleeps = options.sleep;
    told.sleep_w = server.sleep_w;
    told.wake_j = server.wake_energy_j;
    told.watts = server.watts;
    for (double& each : told.watts) each *= options.shift.told ? times[i] : 1;
    fleet_.nodes.push_back(told);
  }
  if (predicts_pods()) {
    for (const PastPod& past : episode.past_pods) {
      demand_.observe(episode.key_of(past.app), past.request, past.mean_cores, 3600);
      demand_.observe_life(episode.key_of(past.app), past.life_s, true);
    }
    fleet_.expected_demand = demand_.expected_demand(kExpectations);
  } else {
    fleet_.expected_demand = episode.expected_demand;
  }
  if (fits_curves()) {
    for (const PastReading& reading : episode.past_readings)
      nodes_[reading.node].curve.observe(reading.utilisation, reading.power_w);
    for (std::size_t i = 0; i < nodes_.size(); ++i) fleet_.nodes[i].watts = nodes_[i].curve.points();
  }
}

double Cluster::expected_cores(const Running& running) const {
  if (!predicts_pods()) return running.predicted_cores;
  return (kPriorSamples * running.predicted_cores + running.seen_cores) / (kPriorSamples + running.samples);
}

placement::PodEstimate Cluster::ask(std::size_t p) const {
  const Pod& pod = episode_.pods[p];
  placement::PodEstimate ask;
  ask.request = pod.request;
  if (!predicts_pods()) {
    ask.demand_cores = episode_.day->mean_cores[pod.machine];
    ask.life_s = pod.life_s;
    return ask;
  }
  const placement::DemandPrediction predicted = demand_.predict(episode_.key_of(pod.app), pod.request);
  ask.demand_cores = predicted.cores;
  ask.life_s = std::isfinite(pod.life_s) ? predicted.life_s : pod.life_s;  // that pods stay is known
  return ask;
}

double Cluster::cores_now(std::size_t p) const {
  const std::size_t sample = samples_ == 0 ? 0 : (samples_ - 1) % kDaySamples;
  return static_cast<double>(episode_.day->cores[episode_.pods[p].machine][sample]);
}

void Cluster::tell(std::size_t i) {
  placement::FleetNode& told = fleet_.nodes[i];
  told.pods = nodes_[i].pods.size();
  told.requested = {};
  told.sleeps = episode_.options.sleep && told.pods == 0;
  told.used_cores = 0;
  for (const Running& running : nodes_[i].pods) {
    const placement::Resources& request = episode_.pods[running.pod].request;
    told.requested.cpu_cores += request.cpu_cores;
    told.requested.memory_bytes += request.memory_bytes;
    told.used_cores += expected_cores(running);
  }
  told.empties_at_s = empties_at_s(nodes_[i]);
}

// True lives end when they end; predicted ones know no age, and the last of n like them ends after 1 + 1/2 + ... + 1/n.
double Cluster::empties_at_s(const Node& node) const {
  double last_s = 0, mean_s = 0;
  for (const Running& running : node.pods) {
    last_s = std::max(last_s, running.placed_s + episode_.pods[running.pod].life_s);
    mean_s += running.predicted_life_s / static_cast<double>(node.pods.size());
  }
  return predicts_pods() ? kernel_.now() + placement::last_ends_in_s(mean_s, node.pods.size()) : last_s;
}

void Cluster::report(const Running& running) {
  if (running.samples == 0) return;
  const Pod& pod = episode_.pods[running.pod];
  demand_.observe(episode_.key_of(pod.app), pod.request, running.seen_cores / running.samples,
                  kSample_s * running.samples);
}

// What the last five minutes told of a node.
void Cluster::learn(std::size_t i, std::size_t sample) {
  Node& node = nodes_[i];
  for (Running& running : node.pods) {
    const std::size_t machine = episode_.pods[running.pod].machine;
    running.seen_cores += static_cast<double>(episode_.day->cores[machine][(sample - 1) % kDaySamples]);
    ++running.samples;
    // The first hour of a pod counts once; a pod that ends sooner reports then.
    if (running.samples == kSamplesPerHour) {
      report(running);
      running.reported = running.samples;
    }
  }
  if (fits_curves()) {
    const double noise = 1 + episode_.options.power_noise_ratio * normal(noise_);
    if (node.pods.empty() && episode_.options.sleep) return;
    const double utilisation = kernel_.node(i).wanted_cores / kernel_.node(i).machine.cores;
    node.curve.observe(std::min(1.0, utilisation), kernel_.running_w(i) * noise);
    fleet_.nodes[i].watts = node.curve.points();
  }
  tell(i);
}

void Cluster::tick(std::size_t sample) {
  if (predicts_pods() && sample > 0) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) learn(i, sample);
    if (fits_curves() && sample % kSamplesPerHour == 0) {
      fleet_.expected_demand = demand_.expected_demand(kExpectations);
      ++fleet_.revision;
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    kernel_.want(
        i, [&](cluster::PodId p) { return cores_now(p); }, *this);
}

void Cluster::ended(cluster::PodId p, std::size_t i, std::size_t position) {
  const auto found = nodes_[i].pods.begin() + static_cast<std::ptrdiff_t>(position);
  if (predicts_pods()) {
    if (found->reported == 0) report(*found);
    demand_.observe_life(episode_.key_of(episode_.pods[p].app), kernel_.now() - found->placed_s, true);
  }
  nodes_[i].pods.erase(found);
  ended_.push_back({p, kernel_.now()});
  tell(i);
}

void Cluster::advance_to(double when_s) {
  for (;;) {
    const double tick_s = kSample_s * static_cast<double>(samples_);
    if (tick_s > when_s) break;
    kernel_.advance_to(tick_s, *this);
    const std::size_t sample = samples_++;
    tick(sample);
  }
  kernel_.advance_to(when_s, *this);
  fleet_.now_s = when_s;
}

void Cluster::place(std::size_t p, std::size_t i) {
  const placement::PodEstimate asked = ask(p);
  assert(placement::fits(fleet_.nodes[i], asked));
  const double now_s = kernel_.now();
  nodes_[i].pods.push_back({p, asked.demand_cores, asked.life_s, 0, 0, 0, now_s});
  kernel_.place(p, i, cores_now(p), episode_.pods[p].life_s, *this);
  wake_wait_s_ += std::max(0.0, kernel_.node(i).wakes_at - now_s);
  tell(i);
}

void Cluster::start_measuring() {
  kernel_.settle(*this);
  kernel_.forget();
  wake_wait_s_ = 0;
}

double Cluster::energy_j() {
  kernel_.settle(*this);
  return kernel_.energy_j();
}

double Cluster::node_energy_j(std::size_t node) {
  kernel_.settle(node, *this);
  return kernel_.node(node).total.energy_j;
}

double Cluster::awake_node_s() {
  kernel_.settle(*this);
  return kernel_.awake_node_s();
}

}  // namespace wattle::sim::consolidation
