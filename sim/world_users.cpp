// Those who ask the pods that serve, and how long they wait for answers.
#include <algorithm>

#include "sim/world.hpp"

namespace wattle::sim {

namespace {

// A request takes so many times as long as on a core that nobody else wants.
double stretch_of(const NodeSpec& spec, double wanted_cores) {
  const double wanted_ratio = wanted_cores / spec.server.cores;
  const double crowd = (wanted_ratio - spec.crowded_ratio) / (1.25 - spec.crowded_ratio);
  return std::max(1.0, wanted_ratio) * (1 + spec.latency_slope * std::clamp(crowd, 0.0, 1.0));
}

}  // namespace

void World::serve(Node& node) {
  if (options_.users.count > 0) serve_closed(node);
  if (!options_.requests.per_s.empty()) serve_open(node);
}

// A fluid model of the closed loop: a pod's users, asking again as soon as they have thought, want as much CPU as keeps
// them waiting as long as they do. Damped iteration of that fixed point.
void World::serve_closed(Node& node) {
  const bool runs = node.power == Power::awake;
  const double per_pod = options_.users.count / static_cast<double>(serving_);
  double others = node.spec.blocked_cores, pods = 0;
  for (const Running* each : node.pods) {
    const Running& running = *each;
    if (running.pod.serves_users)
      ++pods;
    else
      others += running.wanted_cores;
  }
  if (pods == 0) return;
  constexpr int kIterations = 60;
  double stretch = 1, rate = 0, response_s = 0;
  for (int i = 0; i < kIterations && runs; ++i) {
    response_s = 0.001 * node.spec.latency_ms + options_.users.work_core_s * stretch;
    rate = per_pod / (options_.users.think_s + response_s);
    const double wanted = others + pods * rate * options_.users.work_core_s;
    stretch += 0.3 * (stretch_of(node.spec, wanted) - stretch);
  }
  for (Running* each : node.pods) {
    Running& running = *each;
    if (!running.pod.serves_users) continue;
    running.requests_per_s = rate;
    running.response_s = response_s;
    running.wanted_cores = rate * options_.users.work_core_s;
  }
}

// Each replica is a queue of its own that works as fast as the node lets it; what does not find room in it fails.
void World::serve_open(Node& node) {
  const bool runs = node.power == Power::awake;
  const double all_per_s = options_.requests.rate(slot_);
  double wanted = node.spec.blocked_cores;
  for (Running* each : node.pods) {
    Running& running = *each;
    if (running.pod.serves_users) {
      running.asked_per_s =
          all_per_s * running.pod.request_share / static_cast<double>(replicas_.at(running.pod.spec.app));
      running.wanted_cores = std::min(1.0, running.asked_per_s * running.pod.work_core_s);  // one worker
    }
    wanted += running.wanted_cores;
  }
  const double stretch = stretch_of(node.spec, wanted);
  for (Running* each : node.pods) {
    Running& running = *each;
    if (!running.pod.serves_users) continue;
    Queue queue{1, 0};
    if (runs) queue = queue_of(running.asked_per_s, running.pod.work_core_s * stretch, options_.requests.room);
    running.failed_per_s = running.asked_per_s * queue.failed_ratio;
    running.requests_per_s = running.asked_per_s - running.failed_per_s;
    running.response_s = 0.001 * node.spec.latency_ms + queue.response_s;
  }
}

// Users move between the pods that serve: every node with such pods has another load now.
void World::serving_changed(const SimPod& pod) {
  if (!pod.serves_users) return;
  for (Node& node : nodes_) {
    integrate(node);
    refresh(node);
  }
}

}  // namespace wattle::sim
