#include "sim/live/kube_pods.hpp"

#include <utility>

#include "sim/world/random.hpp"

namespace wattle::sim::live {
namespace {

constexpr double kCoresWithoutRequest = 0.1;

// 0 to 1, the same for the same text.
double share_of(std::string_view text) {
  Random random(mix(hash_of(text), 0x6b756265ULL));
  return uniform(random, 0, 1);
}

kube::ReflectorOptions all_pods(std::uint64_t seed) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  options.seed = seed;
  return options;
}

}  // namespace

double simulated_demand_cores(const kube::Pod& pod) {
  if (!(pod.cpu_request_cores > 0)) return kCoresWithoutRequest;
  return pod.cpu_request_cores * (0.2 + 0.8 * share_of(pod.app)) * (0.9 + 0.2 * share_of(pod.uid));
}

KubePods::KubePods(const kube::ApiServer& server, std::uint64_t seed, const Log& log)
    : log_(log), pods_(kube::read_pod, [] {}), mirror_(server, all_pods(seed), pods_, log) {}

std::vector<wire::Placement> KubePods::apply(Fleet& fleet, MonoTime now) {
  std::vector<wire::Placement> placements;
  for (const kube::Change<kube::Pod>& change : pods_.take()) {
    if (!change.now || change.now->ended) {
      if (auto gone = fleet.unbind(change.key, now)) placements.push_back(std::move(*gone));
      continue;
    }
    const kube::Pod& pod = *change.now;
    if (pod.node_name.empty() || !fleet.index_of(pod.node_name)) continue;
    if (!pod.mirror.uid.empty()) continue;  // a kubelet runs static pods only from its files
    FleetPod runs;
    runs.uid = pod.uid;
    runs.name = pod.name;
    runs.node = pod.node_name;
    runs.cpu_request_cores = pod.cpu_request_cores;
    runs.memory_request_bytes = pod.memory_request_bytes;
    runs.demand_cores = simulated_demand_cores(pod);
    auto placed = fleet.bind(runs, now);
    if (placed)
      placements.push_back(std::move(*placed));
    else
      log_.warn("drive.pod_failed", "a pod does not run", {{"pod", pod.name}, {"error", placed.error()}});
  }
  return placements;
}

}  // namespace wattle::sim::live
