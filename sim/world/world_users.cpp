// world_users: the users of serving pods, and their response times.
#include <algorithm>
#include <cassert>

#include "sim/world/world.hpp"

namespace wattle::sim {

namespace {

// Factor on a request's duration relative to an undisturbed core.
double stretch_of(const NodeSpec& spec, double wanted_cores) {
  const double wanted_ratio = wanted_cores / spec.server.cores;
  const double crowd = (wanted_ratio - spec.crowded_ratio) / (1.25 - spec.crowded_ratio);
  return std::max(1.0, wanted_ratio) * (1 + spec.latency_slope * std::clamp(crowd, 0.0, 1.0));
}

}  // namespace

bool World::serve(std::size_t i) {
  if (serving_ == 0) return false;
  if (options_.users.count > 0) serve_closed(i);
  if (!options_.requests.per_s.empty()) serve_open(i);
  return true;
}

// Damped fixed-point iteration over a fluid model of the closed loop. A pod's users repeat their requests after
// thinking, so that their CPU demand and their waiting determine each other.
void World::serve_closed(std::size_t i) {
  const Node& node = nodes_[i];
  const auto& machine = kernel_.node(i);
  const bool runs = machine.power == Power::awake;
  const double per_pod = options_.users.count / static_cast<double>(serving_);
  double others = node.spec.blocked_cores, pods = 0;
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    if (node.pods[k].running->pod.serves_users)
      ++pods;
    else
      others += machine.pods[k].wanted_cores;
  }
  if (pods == 0) return;
  constexpr int kIterations = 60;
  double stretch = 1, rate = 0, response_s = 0;
  for (int n = 0; n < kIterations && runs; ++n) {
    response_s = 0.001 * node.spec.latency_ms + options_.users.work_core_s * stretch;
    rate = per_pod / (options_.users.think_s + response_s);
    const double wanted = others + pods * rate * options_.users.work_core_s;
    stretch += 0.3 * (stretch_of(node.spec, wanted) - stretch);
  }
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    Running& running = *node.pods[k].running;
    if (!running.pod.serves_users) continue;
    running.requests_per_s = rate;
    running.response_s = response_s;
    if (const double speed = kernel_.speed(i, k); speed < 1 && runs) {
      running.response_s += options_.users.work_core_s * stretch * (1 / speed - 1);
      running.requests_per_s = per_pod / (options_.users.think_s + running.response_s);
    }
    kernel_.set_wanted(i, k, running.requests_per_s * options_.users.work_core_s);
  }
}

// Each replica is a separate queue, served at the node's speed; requests without room in it fail.
void World::serve_open(std::size_t i) {
  const Node& node = nodes_[i];
  const auto& machine = kernel_.node(i);
  const bool runs = machine.power == Power::awake;
  const double all_per_s = options_.requests.rate(slot_);
  double wanted = node.spec.blocked_cores;
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    Running& running = *node.pods[k].running;
    if (running.pod.serves_users) {
      running.asked_per_s =
          all_per_s * running.pod.request_share / static_cast<double>(replicas_.at(running.pod.spec.app));
      kernel_.set_wanted(i, k, std::min(1.0, running.asked_per_s * running.pod.work_core_s));  // one worker
    }
    wanted += machine.pods[k].wanted_cores;
  }
  const double stretch = stretch_of(node.spec, wanted);
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    Running& running = *node.pods[k].running;
    if (!running.pod.serves_users) continue;
    Queue queue{1, 0};
    const double work_core_s = running.pod.work_core_s * stretch / kernel_.speed(i, k);
    if (runs) queue = queue_of(running.asked_per_s, work_core_s, options_.requests.room);
    running.failed_per_s = running.asked_per_s * queue.failed_ratio;
    running.requests_per_s = running.asked_per_s - running.failed_per_s;
    running.response_s = 0.001 * node.spec.latency_ms + queue.response_s;
  }
}

double RequestOptions::rate(std::size_t slot) const {
  return per_s.empty() ? 0 : per_s[std::min(slot, per_s.size() - 1)];
}

Queue queue_of(double rate_per_s, double service_s, std::size_t room) {
  assert(room >= 1 && service_s > 0);
  const double load = rate_per_s * service_s;
  if (load <= 0) return {0, service_s};
  // State n has the weight load^n. Sums from the heavier end, so that neither a small nor a large load overflows.
  const bool light = load <= 1;
  const double step = light ? load : 1 / load;
  double weight = 1, sum = 0, held = 0, last = 0;
  for (std::size_t i = 0; i <= room; ++i) {
    const std::size_t n = light ? i : room - i;
    sum += weight;
    held += weight * static_cast<double>(n);
    if (n == room) last = weight;
    weight *= step;
  }
  const double failed = last / sum;
  return {failed, held / sum / (rate_per_s * (1 - failed))};
}

}  // namespace wattle::sim
