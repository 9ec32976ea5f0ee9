// cgroup_short: finds workload roots that were created and removed between two readings of the tree.
// Source   removals reported by the lifecycle program, the current tree and the cgroups that the tree dropped recently
// Gives    one ShortLived per root, with the living cgroup above it. If nested cgroups were short-lived together, the
//          root is the outermost pod, or else the outermost unit, VM or container
// Errors   skips a removal whose parents are unknown, that is, neither in the tree nor removed themselves
// Meaning  a short-lived cgroup below a pod, living or just ended, belongs to that pod. Below other roots, only
//          a pod is a root
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
  const CgroupNode* anchor = nullptr;     // the nearest living cgroup; valid until the tree's next refresh
  std::vector<std::uint64_t> members;     // this cgroup and those below it
  std::optional<std::uint64_t> usage_us;  // its share of the anchor's gain
};

struct ShortLivedSources {
  std::function<std::span<const EndedCgroup>()> ended;                             // since the previous call
  std::function<std::optional<std::uint64_t>(std::uint64_t cgroup_id)> on_cpu_ns;  // not reported yet
};

// Returns the short-lived roots, sorted by anchor.
std::vector<ShortLived> find_short_lived(const CgroupTree& tree, std::span<const EndedCgroup> ended);

// Sets the usage of the roots below one anchor to their time on CPU, together at most `left_us`, and returns the sum.
// If time on CPU is not counted, a single root (`alone`: no other cgroup ended below that anchor) gets all of
// `left_us`, and the usage of several stays unset.
std::uint64_t settle_short_lived(std::span<ShortLived> below, std::uint64_t left_us, bool alone,
                                 const ShortLivedSources& sources);

}  // namespace wattle::agent
