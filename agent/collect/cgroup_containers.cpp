#include "agent/collect/cgroup_containers.hpp"

#include <algorithm>

#include "common/stats/exact_split.hpp"

namespace wattle::agent {

void find_containers(const CgroupNode& pod, std::vector<ContainerUse>& out) {
  for (const DeadRoot& dead : pod.dead)
    if (dead.container) out.push_back({dead.identity.container_id, dead.last_delta_us, false, true});
  for (const auto& child : pod.children) {
    if (child->is_root) continue;
    if (!child->is_container)
      find_containers(*child, out);
    else if (!child->gone)
      out.push_back({child->identity->container_id, child->own_delta_us(), child->born, false});
  }
}

// Settles containers in the same order as roots: the living, then the new ones, then the dead.
void settle_containers(std::vector<ContainerUse>& uses, std::uint64_t gain_us, std::vector<ContainerValues>& out) {
  std::uint64_t left_us = gain_us;
  const auto take = [&](bool born) {
    for (ContainerUse& use : uses) {
      if (use.ended || use.born != born) continue;
      use.used_us = std::min(left_us, use.used_us);
      left_us -= use.used_us;
    }
  };
  take(false);
  take(true);
  if (std::any_of(uses.begin(), uses.end(), [](const ContainerUse& use) { return use.ended; })) {
    std::vector<std::uint64_t> weights;
    for (const ContainerUse& use : uses) weights.push_back(use.ended ? use.used_us + 1 : 0);
    const auto shares = stats::split_exactly(left_us, weights);
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (uses[i].ended) uses[i].used_us = shares[i];
  }

  std::erase_if(uses, [](const ContainerUse& use) { return use.used_us == 0 || use.id.empty(); });
  for (ContainerUse& use : uses) use.id = use.id.substr(0, kContainerIdBytes);
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::size_t kept = 0;
  for (const ContainerUse& use : uses) {
    if (kept > 0 && uses[kept - 1].id == use.id)
      uses[kept - 1].used_us += use.used_us;
    else
      uses[kept++] = use;
  }
  uses.resize(kept);
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.used_us > b.used_us; });
  if (uses.size() > kMaxContainers) uses.resize(kMaxContainers);
  out.resize(uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    out[i].id = uses[i].id;
    out[i].cpu_usage_us = uses[i].used_us;
    out[i].energy_uj.reset();
  }
}

}  // namespace wattle::agent
