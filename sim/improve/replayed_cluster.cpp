#include "sim/improve/replayed_cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wattle::sim::consolidation {

namespace {
constexpr std::uint32_t kSamplesPerHour = 12;
constexpr double kPriorSamples = 12;  // weight of a prediction against the pod's own samples
constexpr std::size_t kExpectations = 50;
constexpr double kNineOfTen = 1.28;     // deviations that nine of ten normal values stay below
constexpr std::uint32_t kOwnBurst = 4;  // samples until a pod's own spread is used
constexpr double kMeasured_s = 60;      // of one measurement of the budget

double half_load_w_per_core(const ServerModel& server) { return server.watts_at(0.5) / server.cores; }

// True watts over reported ones, per server.
std::vector<double> watts_times(const Episode& episode) {
  std::vector<double> reported, times(episode.servers.size(), 1.0);
  for (const ServerModel& server : episode.servers) reported.push_back(half_load_w_per_core(server));
  std::nth_element(reported.begin(), reported.begin() + static_cast<std::ptrdiff_t>(reported.size() / 2),
                   reported.end());
  const double median = reported[reported.size() / 2], odd = episode.options.shift.odd_watts;
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = half_load_w_per_core(episode.servers[i]) < median ? odd : 1 / odd;
  return times;
}

std::vector<cluster::Machine> machines_of(const Episode& episode, const std::vector<double>& times) {
  std::vector<cluster::Machine> machines;
  for (std::size_t i = 0; i < episode.servers.size(); ++i) {
    cluster::Machine machine = machine_of(episode.servers[i]);
    machine.waiting_times = episode.options.shift.odd_waiting;
    machine.crowded_ratio = episode.options.crowded_ratio;
    for (double& each : machine.watts) each *= times[i];
    machines.push_back(machine);
  }
  return machines;
}
}  // namespace

Cluster::Cluster(const Episode& episode)
    : episode_(&episode),
      kernel_(machines_of(episode, watts_times(episode)), {episode.options.sleep, kSleepAfter_s, true}),
      noise_(mix(episode.seed, 0x6e6f697365ULL)) {
  const Options& options = episode.options;
  assert(options.cluster_model != ClusterModel::production);
  fleet_.idle_nodes_sleep = options.sleep;
  fleet_.pods_stay = !options.churn;
  fleet_.expected_cores = episode.expected_cores;
  fleet_.mean_request = fleet_.usual_request = episode.mean_request;
  fleet_.hold_s = options.churn ? options.life_s : kSample_s * static_cast<double>(kDaySamples);
  for (std::size_t i = 0; i < episode.servers.size(); ++i) {
    const ServerModel& server = episode.servers[i];
    nodes_.push_back({{}, placement::PowerCurve::prior(server.cores), {}});
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
  if (fits_curves()) {
    for (const PastReading& reading : episode.past_readings)
      nodes_[reading.node].curve.observe(reading.utilisation, reading.power_w);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      fleet_.nodes[i].watts = nodes_[i].curve.points();
      fleet_.nodes[i].curve_error_w = nodes_[i].curve.residual_sd_w();
      if (waits()) fleet_.nodes[i].waiting = nodes_[i].waiting.curve();
      if (waits()) fleet_.nodes[i].wait_error = nodes_[i].waiting.residual_sd();
    }
  }
}

Cluster Cluster::in(const Episode& future) const {
  Cluster other = *this;
  other.episode_ = &future;
  other.noise_ = Random(mix(future.seed, 0x6e6f697365ULL));
  other.kernel_.end_in([&](cluster::PodId p) {
    return std::max(0.0, future.pods[p].arrives_s + future.pods[p].life_s - kernel_.now());
  });
  return other;
}

bool Cluster::waits() const { return fits_curves() && episode_->options.learns_waiting; }

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
  if (waits()) {
    ask.demand_cores2 = predicted.burst_cores2 + predicted.sd_cores * predicted.sd_cores;
    ask.unsure_cores = kNineOfTen * predicted.unsure_cores;
  }
  ask.life_s = std::isfinite(pod.life_s) ? predicted.life_s : pod.life_s;  // whether pods stay is known
  return ask;
}

double Cluster::cores_at(std::size_t p, std::size_t sample) const {
  const Pod& pod = episode_->pods[p];
  const double mean = pod.times * static_cast<double>(episode_->day->cores[pod.machine][sample % kDaySamples]);
  if (!episode_->options.crowded) return mean;
  static const double kSigma = std::sqrt(std::log1p(kBurst * kBurst));
  const std::uint64_t own = mix(episode_->seed, p);
  return mean * std::exp(kSigma * normal_of(mix(own, 2 * sample), mix(own, 2 * sample + 1)) - 0.5 * kSigma * kSigma);
}

double Cluster::cores_now(std::size_t p) const { return cores_at(p, samples_ == 0 ? 0 : samples_ - 1); }

// Adds the possible deviation of its tenants from their expected usage, as in the controller's cluster model.
void Cluster::report_spread(placement::FleetNode& reported, const Running& running) const {
  const double unknown = kPriorSamples / (kPriorSamples + running.samples);
  double own = running.burst_cores2;
  if (running.samples >= kOwnBurst) {
    const double mean = running.seen_cores / running.samples;
    own = std::max(0.0, running.seen_cores2 / running.samples - mean * mean);
  }
  reported.used_cores2 += own + unknown * (running.burst_cores2 + running.error_cores * running.error_cores - own);
  reported.unsure_cores += unknown * running.unsure_cores;
}

void Cluster::report(std::size_t i) {
  placement::FleetNode& reported = fleet_.nodes[i];
  reported.pods = nodes_[i].pods.size();
  reported.requested = {};
  reported.sleeps = episode_->options.sleep && reported.pods == 0;
  reported.used_cores = reported.used_cores2 = reported.unsure_cores = 0;
  for (const Running& running : nodes_[i].pods) {
    const placement::Resources& request = episode_->pods[running.pod].request;
    reported.requested.cpu_cores += request.cpu_cores;
    reported.requested.memory_bytes += request.memory_bytes;
    reported.used_cores += expected_cores(running);
    if (waits()) report_spread(reported, running);
  }
  reported.empties_at_s = empties_at_s(nodes_[i]);
}

// True lives end at their time. Predicted ones are memoryless: the last of n equal ones ends after life x (1 + 1/2 +
// ... + 1/n).
double Cluster::empties_at_s(const Node& node) const {
  double last_s = 0, mean_s = 0;
  for (const Running& running : node.pods) {
    last_s = std::max(last_s, running.placed_s + episode_->pods[running.pod].life_s);
    mean_s += running.predicted_life_s / static_cast<double>(node.pods.size());
  }
  return predicts_pods() ? kernel_.now() + placement::last_ends_in_s(mean_s, node.pods.size()) : last_s;
}

void Cluster::report(const Running& running) {
  if (running.samples == 0) return;
  const Pod& pod = episode_->pods[running.pod];
  const double mean = running.seen_cores / running.samples;
  std::optional<double> burst_cores2;
  if (waits() && running.samples >= kOwnBurst)
    burst_cores2 = std::max(0.0, running.seen_cores2 / running.samples - mean * mean);
  demand_.observe(episode_->key_of(pod.app), pod.request, mean, kSample_s * running.samples, burst_cores2);
}

// Learns from the last five minutes of a node.
void Cluster::learn(std::size_t i, std::size_t sample) {
  Node& node = nodes_[i];
  for (Running& running : node.pods) {
    const double cores = cores_at(running.pod, sample - 1);
    running.seen_cores += cores;
    running.seen_cores2 += cores * cores;
    ++running.samples;
    // The first hour of a pod counts once; a pod that ends sooner reports at its end.
    if (running.samples == kSamplesPerHour) {
      report(running);
      running.reported = running.samples;
    }
  }
  if (fits_curves()) {
    const double noise = 1 + episode_->options.power_noise_ratio * normal(noise_);
    if (node.pods.empty() && episode_->options.sleep) return;
    const double utilisation = kernel_.node(i).wanted_cores / kernel_.node(i).machine.cores;
    node.curve.observe(std::min(1.0, utilisation), kernel_.running_w(i) * noise);
    fleet_.nodes[i].watts = node.curve.points();
    fleet_.nodes[i].curve_error_w = node.curve.residual_sd_w();
    if (waits()) learn_waiting(i);
  }
  report(i);
}

void Cluster::learn_waiting(std::size_t i) {
  const auto& there = kernel_.node(i);
  if (there.power != cluster::Power::awake) return;
  const double load = std::min(1.0, there.wanted_cores / there.machine.cores);
  fleet_waiting_.observe(load, there.pressure_ratio);
  nodes_[i].waiting.observe(load, there.pressure_ratio, fleet_waiting_.curve());
  fleet_.nodes[i].waiting = nodes_[i].waiting.curve();
  fleet_.nodes[i].wait_error = nodes_[i].waiting.residual_sd();
}

// Updates the price from the waiting of the last five minutes.
void Cluster::price_waiting() {
  double waited = 0, pods = 0, watts = 0, cores = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto there = static_cast<double>(nodes_[i].pods.size());
    waited += kernel_.node(i).pressure_ratio * there;
    pods += there;
    watts += fleet_.nodes[i].watts.back();
    cores += kernel_.node(i).machine.cores;
  }
  for (double passed_s = 0; passed_s < kSample_s; passed_s += kMeasured_s)
    cpu_wait_.measure(waited, pods, kMeasured_s, true, watts / cores);
  fleet_.cpu_wait_price_w = cpu_wait_.price();
}

void Cluster::tick(std::size_t sample) {
  if (predicts_pods() && sample > 0) {
    if (waits()) price_waiting();
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

void Cluster::ran(std::size_t i, double dt_s) {
  const auto& node = kernel_.node(i);
  waited_core_s_ += node.pressure_ratio * node.wanted_cores * dt_s;
}

void Cluster::ended(cluster::PodId p, std::size_t i, std::size_t position) {
  const auto found = nodes_[i].pods.begin() + static_cast<std::ptrdiff_t>(position);
  if (predicts_pods()) {
    if (found->reported == 0) report(*found);
    demand_.observe_life(episode_->key_of(episode_->pods[p].app), kernel_.now() - found->placed_s, true);
  }
  nodes_[i].pods.erase(found);
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
  const double now_s = kernel_.now();
  Running running{.pod = p, .predicted_cores = asked.demand_cores, .predicted_life_s = asked.life_s, .placed_s = now_s};
  running.error_cores = asked.error_cores;
  running.unsure_cores = asked.unsure_cores;
  running.burst_cores2 = std::max(0.0, asked.demand_cores2 - asked.error_cores * asked.error_cores);
  nodes_[i].pods.push_back(running);
  kernel_.place(p, i, cores_now(p), episode_->pods[p].life_s, *this);
  wake_wait_s_ += std::max(0.0, kernel_.node(i).wakes_at - now_s);
  report(i);
}

void Cluster::start_measuring() {
  kernel_.settle(*this);
  kernel_.forget();
  wake_wait_s_ = waited_core_s_ = 0;
}

double Cluster::energy_j() {
  kernel_.settle(*this);
  return kernel_.energy_j();
}

double Cluster::waited_core_s() {
  kernel_.settle(*this);
  return waited_core_s_;
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
