// cgroup_short: workload roots that were born and removed between two readings of the tree.
// Source   the removals that the lifecycle program tells, beside the tree as it is and what it dropped of late
// Gives    one ShortLived per root, with the living cgroup that it was below: of what came and went together the outermost pod,
//          else the outermost unit, VM or container
// Errors   a removal is left out whose parents are not known: neither in the tree nor removed themselves
// Meaning  what came and went below a pod, living or just ended, is that pod's own; below another root a pod is a root
// Threads  pure
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/bpf/cgroup_lifecycle.hpp"
#include "agent/collect/cgroup_tree.hpp"

namespace wattle::agent {

struct ShortLived {
  std::uint64_t id = 0;
  std::string path;
  Identity identity;
  const CgroupNode* anchor = nullptr;     // the nearest that lives, until the tree's next refresh
  std::vector<std::uint64_t> members;     // it, and what was below
  std::optional<std::uint64_t> usage_us;  // what it is given of its anchor's gain
};

struct ShortLivedSources {
  std::function<std::span<const EndedCgroup>()> ended;                             // since the call before
  std::function<std::optional<std::uint64_t>(std::uint64_t cgroup_id)> on_cpu_ns;  // not told yet
};

// Sorted by anchor.
std::vector<ShortLived> find_short_lived(const CgroupTree& tree, std::span<const EndedCgroup> ended);

// What each of those below one anchor used, together at most `left_us`: its time on CPU. Where nobody counts that, one alone
// (`alone`: nothing else went below that anchor) has all that is left, and of several it stays absent. The sum is returned.
std::uint64_t settle_short_lived(std::span<ShortLived> below, std::uint64_t left_us, bool alone,
                                 const ShortLivedSources& sources);

}  // namespace wattle::agent
