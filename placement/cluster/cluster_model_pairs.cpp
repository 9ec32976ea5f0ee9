// cluster_model_pairs: learns from the waiting of pods which applications make each other wait.
#include <algorithm>
#include <utility>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

constexpr double kWaitReading_s = 4.5;  // of a pod, to learn pairs from it
constexpr double kBusyCores = 0.05;     // a pod that uses less does not count
constexpr double kAlike = 0.02;         // waits that differ by less count as equal

}  // namespace

// The waiting that a node causes any pod is the least waiting of the other pods there, limited by the node's curve: the
// curve may have learned the waiting of pairs as if it were load. If three or more pods wait equally, the node is the
// cause, whatever its curve.
void ClusterModel::follow_pairs(const ClusterView& view) {
  if (!std::exchange(waits_reported_, false)) return;
  for (Row& row : rows_) {
    row.known->least_wait = row.known->second_wait = 1;
    row.known->most_wait = 0;
    row.known->busy_pods = 0;
  }
  const auto reported = [](const Running& running) {
    return running.known != nullptr && running.known->row != kNoRow && running.waited_of_s >= kWaitReading_s;
  };
  for (const Running& running : pods_) {
    if (!reported(running) || running.last_cores < kBusyCores) continue;
    Known& known = *running.known;
    const double wait = running.waited_s / running.waited_of_s;
    known.second_wait = std::min(known.second_wait, std::max(wait, known.least_wait));
    known.least_wait = std::min(known.least_wait, wait);
    known.most_wait = std::max(known.most_wait, wait);
    ++known.busy_pods;
  }
  std::vector<AppId> beside;
  for (std::size_t slot = 0; slot < pods_.size(); ++slot) {
    Running& running = pods_[slot];
    if (!reported(running)) continue;
    const double wait = running.waited_s / running.waited_of_s, seen_s = std::exchange(running.waited_of_s, 0);
    running.waited_s = 0;
    const Known& known = *running.known;
    const NodeView& node = view.nodes[known.row];
    if (running.last_cores < kBusyCores || node.asleep) continue;
    if (known.busy_pods > 2 && known.least_wait > kAlike && known.most_wait - known.least_wait < kAlike) continue;
    const double anybody =
        known.waiting.curve().wait(node.values.cpu_used_cores.value_or(0), 0, size_of(node).cpu_cores);
    const double others = wait > known.least_wait ? known.least_wait : known.second_wait;
    const AppId app = whose_[slot].id;
    beside.clear();
    for (const AppThere& there : known.apps.all())
      if (there.app != app || there.pods > 1) beside.push_back(there.app);
    pairs_.observe(app, beside, std::max(0.0, wait - std::min(anybody, others)), seen_s);
  }
}

}  // namespace wattle::placement
