#include "placement/cluster/pair_waits.hpp"

#include <algorithm>
#include <unordered_map>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

constexpr double kBusyCores = 0.05;  // a pod that uses less does not count
constexpr double kAlike = 0.02;      // waits that differ by less count as equal

// Waiting of the busy pods of a node.
struct BusyPods {
  double least_wait = 1, second_wait = 1, most_wait = 0;
  std::size_t pods = 0;
  void add(double wait) {
    second_wait = std::min(second_wait, std::max(wait, least_wait));
    least_wait = std::min(least_wait, wait);
    most_wait = std::max(most_wait, wait);
    ++pods;
  }
  bool alike() const { return pods > 2 && least_wait > kAlike && most_wait - least_wait < kAlike; }
};

}  // namespace

void learn_pairs(const std::vector<PodWait>& waits, const ClusterView& view, PairExcess& pairs) {
  std::unordered_map<const KnownNode*, BusyPods> busy;
  for (const PodWait& pod : waits)
    if (pod.cores >= kBusyCores) busy[pod.node].add(pod.waited);
  std::vector<AppId> beside;
  for (const PodWait& pod : waits) {
    const NodeView& node = view.nodes[pod.node->row];
    if (pod.cores < kBusyCores || node.asleep) continue;
    const BusyPods& there = busy.at(pod.node);
    if (there.alike()) continue;
    const double any_pod =
        pod.node->waiting.model.curve().wait(node.values.cpu_used_cores.value_or(0), 0, size_of(node).cpu_cores);
    const double others = pod.waited > there.least_wait ? there.least_wait : there.second_wait;
    beside.clear();
    for (const AppThere& app : pod.node->apps.all())
      if (app.app != pod.app || app.pods > 1) beside.push_back(app.app);
    pairs.observe(pod.app, beside, std::max(0.0, pod.waited - std::min(any_pod, others)), pod.seen_s);
  }
}

}  // namespace wattle::placement
