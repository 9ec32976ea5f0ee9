#include "controller/provision/sizing_facts.hpp"

#include <algorithm>

namespace wattle::controller {

static_assert(static_cast<int>(placement::PodAnswer::infeasible) == static_cast<int>(kube::PodResize::infeasible));

// Both enums have the same values.
placement::PodAnswer pod_answer(kube::PodResize resize) { return static_cast<placement::PodAnswer>(resize); }

placement::PodMemory pod_memory(const WorkloadValues& values, double known_bytes) {
  placement::PodMemory memory;
  memory.killed = values.memory_oom_kills.value_or(0) > 0;
  memory.bytes = std::max(static_cast<double>(values.memory_bytes.value_or(0)), memory.killed ? known_bytes : 0.0);
  memory.cache_bytes = static_cast<double>(values.memory_file_bytes.value_or(0));
  memory.pressed = values.pressure.memory_some_ratio.value_or(0) > 0 || values.memory_high_events.value_or(0) > 0;
  return memory;
}

void add_rule(placement::OwnerFacts& facts, const placement::RequestRule& rule) {
  if (rule.lower_needs_s() > 0) return;
  facts.cpu_cores = rule.cpu_cores();
  facts.memory_bytes = rule.memory_bytes();
  facts.lasting = {rule.lasting_cores().value_or(0), rule.lasting_bytes().value_or(0)};
  facts.needed_bytes = rule.lasting_needed_bytes();
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
  const double cores = placement::needed_cores({pod.whole_cores(), values.pressure.cpu_some_ratio, std::nullopt});
  shadow.add(cores > goal.cpu_cores, placement::needed_bytes(pod_memory(values, 0)) > goal.memory_bytes, seconds,
             now_s);
}

}  // namespace wattle::controller
