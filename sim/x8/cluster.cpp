#include "sim/x8/cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattle::sim::x8 {

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
}  // namespace

Cluster::Cluster(const Episode& episode)
    : episode_(episode), node_of_(episode.pods.size(), kNowhere), noise_(mix(episode.seed, 0x6e6f697365ULL)) {
  const Options& options = episode.options;
  const std::vector<double> times = watts_times(episode);
  fleet_.idle_nodes_sleep = options.sleep;
  fleet_.pods_stay = !options.churn;
  fleet_.expected_cores = episode.expected_cores;
  fleet_.mean_request = kPodRequest;
  fleet_.hold_s = options.churn ? options.life_s : kSample_s * static_cast<double>(kDaySamples);
  for (std::size_t i = 0; i < episode.servers.size(); ++i) {
    const ServerModel& server = episode.servers[i];
    Node node;
    node.empty_since_s = -kSleepAfter_s;
    node.watts_times = times[i];
    node.curve = placement::PowerCurve::prior(server.cores);
    nodes_.push_back(std::move(node));
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
      demand_.observe(app_key(past.app), kPodRequest, past.mean_cores, 3600);
      demand_.observe_life(app_key(past.app), past.life_s, true);
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) refresh(i);
}

double Cluster::expected_cores(const Running& running) const {
  if (!predicts_pods()) return running.predicted_cores;
  return (kPriorSamples * running.predicted_cores + running.seen_cores) / (kPriorSamples + running.samples);
}

placement::Ask Cluster::ask(std::size_t p) const {
  const Pod& pod = episode_.pods[p];
  placement::Ask ask;
  ask.request = kPodRequest;
  if (!predicts_pods()) {
    ask.demand_cores = episode_.day->mean_cores[pod.machine];
    ask.life_s = pod.life_s;
    return ask;
  }
  const placement::DemandPrediction predicted = demand_.predict(app_key(pod.app), kPodRequest);
  ask.demand_cores = predicted.cores;
  ask.life_s = std::isfinite(pod.life_s) ? predicted.life_s : pod.life_s;  // that pods stay is known
  return ask;
}

void Cluster::refresh(std::size_t i) {
  const std::size_t sample = samples_ == 0 ? 0 : (samples_ - 1) % kDaySamples;
  Node& node = nodes_[i];
  node.used_cores = 0;
  for (const Running& running : node.pods)
    node.used_cores += static_cast<double>(episode_.day->cores[episode_.pods[running.pod].machine][sample]);
  const double cores = episode_.servers[i].cores;
  node.used_cores *= 1 + episode_.options.shift.interference * node.used_cores / cores;
  node.power_w = node.watts_times * episode_.servers[i].watts_at(node.used_cores / cores);
}

void Cluster::tell(std::size_t i) {
  placement::FleetNode& told = fleet_.nodes[i];
  const auto pods = static_cast<double>(nodes_[i].pods.size());
  told.pods = nodes_[i].pods.size();
  told.requested = {pods * kPodRequest.cpu_cores, pods * kPodRequest.memory_bytes};
  told.sleeps = episode_.options.sleep && told.pods == 0;
  told.used_cores = 0;
  for (const Running& running : nodes_[i].pods) told.used_cores += expected_cores(running);
  told.empties_at_s = empties_at_s(nodes_[i]);
}

// True lives end when they end; predicted ones know no age, and the last of n like them ends after 1 + 1/2 + ... + 1/n.
double Cluster::empties_at_s(const Node& node) const {
  double last_s = 0, mean_s = 0;
  for (const Running& running : node.pods) {
    last_s = std::max(last_s, running.placed_s + episode_.pods[running.pod].life_s);
    mean_s += running.predicted_life_s / static_cast<double>(node.pods.size());
  }
  return predicts_pods() ? now_s_ + placement::last_ends_in_s(mean_s, node.pods.size()) : last_s;
}

// Splits the time since the last event where the node wakes or falls asleep.
void Cluster::integrate(std::size_t i, double to_s) {
  Node& node = nodes_[i];
  const ServerModel& server = episode_.servers[i];
  double from_s = node.since_s;
  node.since_s = to_s;
  if (!(to_s > from_s)) return;
  if (node.pods.empty()) {
    const double sleeps_s = episode_.options.sleep ? std::max(from_s, node.empty_since_s + kSleepAfter_s) : to_s;
    const double idle_s = std::max(0.0, std::min(sleeps_s, to_s) - from_s);
    node.energy_j += idle_s * node.power_w + (to_s - from_s - idle_s) * server.sleep_w;
    node.awake_s += idle_s;
    return;
  }
  const double waking_s = std::clamp(node.woken_s - from_s, 0.0, to_s - from_s);
  if (waking_s > 0) node.energy_j += waking_s * server.wake_energy_j / server.wake_time_s;
  node.energy_j += (to_s - from_s - waking_s) * node.power_w;
  node.awake_s += to_s - from_s;
  pod_s_ += (to_s - from_s) * static_cast<double>(node.pods.size());
}

void Cluster::report(const Running& running) {
  if (running.samples == 0) return;
  demand_.observe(app_key(episode_.pods[running.pod].app), kPodRequest, running.seen_cores / running.samples,
                  kSample_s * running.samples);
}

void Cluster::tick(std::size_t sample) {
  // What the last five minutes told.
  if (predicts_pods() && sample > 0) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
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
      if (!fits_curves()) {
        tell(i);
        continue;
      }
      const double noise = 1 + episode_.options.power_noise_ratio * normal(noise_);
      if (node.pods.empty() && episode_.options.sleep) continue;
      node.curve.observe(std::min(1.0, node.used_cores / episode_.servers[i].cores), node.power_w * noise);
      fleet_.nodes[i].watts = node.curve.points();
      tell(i);
    }
    if (fits_curves() && sample % kSamplesPerHour == 0) {
      fleet_.expected_demand = demand_.expected_demand(kExpectations);
      ++fleet_.revision;
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    integrate(i, now_s_);
    refresh(i);
  }
}

void Cluster::end_pod(std::size_t p) {
  const std::size_t i = node_of_[p];
  Node& node = nodes_[i];
  integrate(i, now_s_);
  const auto found =
      std::find_if(node.pods.begin(), node.pods.end(), [&](const Running& each) { return each.pod == p; });
  assert(found != node.pods.end());
  if (predicts_pods()) {
    if (found->reported == 0) report(*found);
    demand_.observe_life(app_key(episode_.pods[p].app), now_s_ - found->placed_s, true);
  }
  node.pods.erase(found);
  ended_.push_back({p, now_s_});
  node_of_[p] = kNowhere;
  if (node.pods.empty()) node.empty_since_s = now_s_;
  refresh(i);
  tell(i);
}

void Cluster::advance_to(double when_s) {
  for (;;) {
    const double tick_s = kSample_s * static_cast<double>(samples_);
    const double end_s = ends_.empty() ? when_s + 1 : ends_.top().at_s;
    if (std::min(tick_s, end_s) > when_s) break;
    now_s_ = std::min(tick_s, end_s);
    if (tick_s <= end_s) {
      const std::size_t sample = samples_++;
      tick(sample);
    } else {
      const std::size_t pod = ends_.top().pod;
      ends_.pop();
      end_pod(pod);
    }
  }
  now_s_ = when_s;
  fleet_.now_s = when_s;
}

void Cluster::place(std::size_t p, std::size_t i) {
  const Pod& pod = episode_.pods[p];
  const placement::Ask asked = ask(p);
  assert(placement::fits(fleet_.nodes[i], asked));
  integrate(i, now_s_);
  Node& node = nodes_[i];
  if (node.pods.empty() && episode_.options.sleep && now_s_ >= node.empty_since_s + kSleepAfter_s) {
    node.woken_s = now_s_ + episode_.servers[i].wake_time_s;
    ++wakes_;
  }
  wake_wait_s_ += std::max(0.0, node.woken_s - now_s_);
  node.pods.push_back({p, asked.demand_cores, asked.life_s, 0, 0, 0, now_s_});
  node_of_[p] = i;
  if (std::isfinite(pod.life_s)) ends_.push({now_s_ + pod.life_s, p});
  refresh(i);
  tell(i);
}

void Cluster::start_measuring() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    integrate(i, now_s_);
    nodes_[i].energy_j = 0;
    nodes_[i].awake_s = 0;
  }
  wakes_ = 0;
  wake_wait_s_ = pod_s_ = 0;
}

double Cluster::energy_j() {
  double sum_j = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    integrate(i, now_s_);
    sum_j += nodes_[i].energy_j;
  }
  return sum_j;
}

double Cluster::awake_node_s() {
  double sum_s = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    integrate(i, now_s_);
    sum_s += nodes_[i].awake_s;
  }
  return sum_s;
}

}  // namespace wattle::sim::x8
