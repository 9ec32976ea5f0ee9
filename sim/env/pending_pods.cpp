#include "sim/env/pending_pods.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/kube_scoring.hpp"

namespace wattle::sim {

namespace {
constexpr double kTick_s = 1e-6;  // times are whole nanoseconds

double time_of(const PendingPods::Pod& pod) { return pod.again_s.value_or(pod.tried_s + kRetry_s); }
}  // namespace

void PendingPods::add(Pod pod) {
  const auto after =
      std::find_if(pods_.begin(), pods_.end(), [&](const Pod& each) { return each.since_s > pod.since_s; });
  pods_.insert(after, std::move(pod));
}

std::optional<PendingPods::Pod> PendingPods::take(const World& world) {
  if (pods_.empty()) return std::nullopt;
  const double now_s = world.now_s();
  const std::vector<KubeNode> nodes = world.kube_nodes();
  for (auto each = pods_.begin(); each != pods_.end(); ++each) {
    if (now_s < time_of(*each) - kTick_s) continue;
    if (each->again_s) {
      Pod taken = std::move(*each);
      pods_.erase(each);
      taken.again_s.reset();
      return taken;
    }
    each->tried_s = now_s;
    const KubePod pod = kube_pod(each->pod.spec.request);
    if (std::none_of(nodes.begin(), nodes.end(), [&](const KubeNode& node) { return fits(node, pod); })) continue;
    Pod taken = std::move(*each);
    pods_.erase(each);
    return taken;
  }
  return std::nullopt;
}

double PendingPods::next_s() const {
  double next_s = std::numeric_limits<double>::infinity();
  for (const Pod& each : pods_) next_s = std::min(next_s, time_of(each));
  return next_s;
}

double PendingPods::waited_s(double until_s) const {
  double sum_s = 0;
  for (const Pod& each : pods_) sum_s += until_s - each.since_s;
  return sum_s;
}

}  // namespace wattle::sim
