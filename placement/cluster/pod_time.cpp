#include "placement/cluster/pod_time.hpp"

#include <utility>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

void PodTime::set_limits(const BudgetLimits& limits) {
  cpu_wait_.set_limit(limits.cpu_wait);
  late_.set_limit(limits.late);
}

void PodTime::add(const NodeView& node, KnownNode& known) {
  round_.watts += node.curve.max_w();
  round_.cores += size_of(node).cpu_cores;
  if (node.asleep) return;
  add_waiting(node, known);
  add_late(node, known);
}

void PodTime::add_waiting(const NodeView& node, KnownNode& known) {
  const auto wait = waiting_ratio(node);
  const auto load = cpu_utilisation(node);
  if (!wait || !load) return;
  round_.waited += *wait * static_cast<double>(node.pods);
  round_.pods += static_cast<double>(node.pods);
  NodeWaiting& waiting = known.waiting;
  if (*wait == waiting.last_wait && *load == waiting.last_load) return;
  waiting.last_wait = *wait;
  waiting.last_load = *load;
  fleet_waiting_.observe(*load, *wait);
  waiting.model.observe(*load, *wait, fleet_waiting_.curve());
}

void PodTime::add_late(const NodeView& node, const KnownNode& known) {
  for (const auto& [limit, count] : known.limited) {
    const auto latency_ms = latency_for(node, limit.first);
    if (!latency_ms) continue;
    round_.limited += static_cast<double>(count);
    if (*latency_ms > limit.second) round_.late += static_cast<double>(count);
  }
}

void PodTime::end_round(double passed_s) {
  const Round sums = std::exchange(round_, {});
  const double watts_per_core = sums.cores > 0 ? sums.watts / sums.cores : 0;
  cpu_wait_.measure(sums.waited, sums.pods, passed_s, acting_, watts_per_core);
  late_.measure(sums.late, sums.limited, passed_s, acting_, 1);
}

void PodTime::pack(PackWriter& out) const {
  cpu_wait_.pack(out);
  fleet_waiting_.pack(out);
}

void PodTime::unpack(PackReader& in) {
  cpu_wait_.unpack(in);
  fleet_waiting_ = WaitingModel::unpack(in);
}

}  // namespace wattle::placement
