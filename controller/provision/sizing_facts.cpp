#include "controller/provision/sizing_facts.hpp"

#include <algorithm>

#include "provision/requests/request_rule.hpp"

namespace wattle::controller {

placement::PodAnswer pod_answer(kube::PodResize resize) {
  switch (resize) {
    case kube::PodResize::none:
      return placement::PodAnswer::none;
    case kube::PodResize::in_progress:
      return placement::PodAnswer::in_progress;
    case kube::PodResize::failing:
      return placement::PodAnswer::failing;
    case kube::PodResize::deferred:
      return placement::PodAnswer::deferred;
    case kube::PodResize::infeasible:
      return placement::PodAnswer::infeasible;
  }
  return placement::PodAnswer::none;
}

placement::KnownHarm harm_shares(const WorkloadValues& values, double seconds) {
  placement::KnownHarm shares{std::nullopt, values.pressure.cpu_some_ratio, values.pressure.memory_some_ratio};
  if (values.cpu_throttled_us)
    shares[0] = std::min(1.0, static_cast<double>(*values.cpu_throttled_us) * 1e-6 / seconds);
  return shares;
}

void add_shadow(placement::ShadowUse& shadow, const placement::Resources& goal, const Workload& pod, double seconds,
                double now_s) {
  if (!pod.cpu_cores) return;
  const WorkloadValues& values = pod.values;
  placement::PodMemory memory;
  memory.bytes = static_cast<double>(values.memory_bytes.value_or(0));
  memory.cache_bytes = static_cast<double>(values.memory_file_bytes.value_or(0));
  memory.pressed = values.pressure.memory_some_ratio.value_or(0) > 0;
  const double cores = placement::needed_cores({pod.whole_cores(), values.pressure.cpu_some_ratio, std::nullopt});
  shadow.add(cores > goal.cpu_cores, placement::needed_bytes(memory) > goal.memory_bytes, seconds, now_s);
}

}  // namespace wattle::controller
