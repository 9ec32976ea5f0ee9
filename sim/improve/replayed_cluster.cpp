#include "sim/improve/replayed_cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattle::sim::consolidation {

namespace {
constexpr std::uint32_t kSamplesPerHour = 12;
constexpr double kPriorSamples = 12;  // weight of a prediction against the pod's own samples
constexpr std::size_t kExpectations = 50;

std::vector<cluster::Machine> machines_of(const Episode& episode) {
  std::vector<cluster::Machine> machines;
  for (const ServerModel& server : episode.servers) machines.push_back(machine_of(server));
  return machines;
}
}  // namespace

Cluster::Cluster(const Episode& episode)
    : episode_(&episode),
      kernel_(machines_of(episode), {episode.options.sleep, kSleepAfter_s, true}),
      nodes_(episode.servers.size()) {
  const Options& options = episode.options;
  assert(options.cluster_model != ClusterModel::production);
  fleet_.idle_nodes_sleep = options.sleep;
  fleet_.pods_stay = !options.churn;
  fleet_.expected_cores = episode.expected_cores;
  fleet_.mean_request = fleet_.usual_request = episode.mean_request;
  fleet_.hold_s = options.churn ? options.life_s : kSample_s * static_cast<double>(kDaySamples);
  for (const ServerModel& server : episode.servers) {
    placement::FleetNode reported;
    reported.allocatable = {server.cores, server.memory_bytes};
    reported.sleeps = options.sleep;
    reported.sleep_w = server.sleep_w;
    reported.wake_j = server.wake_energy_j;
    reported.watts = server.watts;
    fleet_.nodes.push_back(reported);
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
}

double Cluster::expected_cores(const Running& running) const {
  if (!predicts_pods()) return running.predicted_cores;
  return (kPriorSamples * running.predicted_cores + running.seen_cores) / (kPriorSamples + running.samples);
}

placement::PodEstimate Cluster::ask(std::size_t p) const {
  const Pod& pod = episode_->pods[p];
  placement::PodEstimate ask;
  ask.request = pod.request;
  if (!predicts_pods()) {
    ask.demand_cores = pod.times * episode_->day->mean_cores[pod.machine];
    ask.life_s = pod.life_s;
    return ask;
  }
  const placement::DemandPrediction predicted = demand_.predict(episode_->key_of(pod.app), pod.request);
  ask.demand_cores = predicted.cores;
  ask.error_cores = predicted.sd_cores;
  ask.life_s = std::isfinite(pod.life_s) ? predicted.life_s : pod.life_s;  // whether pods stay is known
  return ask;
}

double Cluster::cores_at(std::size_t p, std::size_t sample) const {
  const Pod& pod = episode_->pods[p];
  return pod.times * static_cast<double>(episode_->day->cores[pod.machine][sample % kDaySamples]);
}

double Cluster::cores_now(std::size_t p) const { return cores_at(p, samples_ == 0 ? 0 : samples_ - 1); }

void Cluster::report(std::size_t i) {
  placement::FleetNode& reported = fleet_.nodes[i];
  reported.pods = nodes_[i].size();
  reported.requested = {};
  reported.sleeps = episode_->options.sleep && reported.pods == 0;
  reported.used_cores = 0;
  for (const Running& running : nodes_[i]) {
    const placement::Resources& request = episode_->pods[running.pod].request;
    reported.requested.cpu_cores += request.cpu_cores;
    reported.requested.memory_bytes += request.memory_bytes;
    reported.used_cores += expected_cores(running);
  }
  reported.empties_at_s = empties_at_s(nodes_[i]);
}

// True lifetimes end at their time. Predicted ones are memoryless: the last of n equal ones ends after life x (1 + 1/2
// + ... + 1/n).
double Cluster::empties_at_s(const Node& node) const {
  double last_s = 0, mean_s = 0;
  for (const Running& running : node) {
    last_s = std::max(last_s, running.placed_s + episode_->pods[running.pod].life_s);
    mean_s += running.predicted_life_s / static_cast<double>(node.size());
  }
  return predicts_pods() ? kernel_.now() + placement::last_ends_in_s(mean_s, node.size()) : last_s;
}

void Cluster::report(const Running& running) {
  if (running.samples == 0) return;
  const Pod& pod = episode_->pods[running.pod];
  demand_.observe(episode_->key_of(pod.app), pod.request, running.seen_cores / running.samples,
                  kSample_s * running.samples);
}

// Learns from the last five minutes of a node.
void Cluster::learn(std::size_t i, std::size_t sample) {
  for (Running& running : nodes_[i]) {
    running.seen_cores += cores_at(running.pod, sample - 1);
    ++running.samples;
    // The first hour of a pod counts once; a pod that ends sooner reports at its end.
    if (running.samples == kSamplesPerHour) {
      report(running);
      running.reported = running.samples;
    }
  }
  report(i);
}

void Cluster::tick(std::size_t sample) {
  if (predicts_pods() && sample > 0)
    for (std::size_t i = 0; i < nodes_.size(); ++i) learn(i, sample);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    kernel_.want(
        i, [&](cluster::PodId p) { return cores_now(p); }, *this);
}

void Cluster::ended(cluster::PodId p, std::size_t i, std::size_t position) {
  const auto found = nodes_[i].begin() + static_cast<std::ptrdiff_t>(position);
  if (predicts_pods()) {
    if (found->reported == 0) report(*found);
    demand_.observe_life(episode_->key_of(episode_->pods[p].app), kernel_.now() - found->placed_s, true);
  }
  nodes_[i].erase(found);
  report(i);
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
  nodes_[i].push_back(
      {.pod = p, .predicted_cores = asked.demand_cores, .predicted_life_s = asked.life_s, .placed_s = kernel_.now()});
  kernel_.place(p, i, cores_now(p), episode_->pods[p].life_s, *this);
  report(i);
}

void Cluster::start_measuring() {
  kernel_.settle(*this);
  kernel_.forget();
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
