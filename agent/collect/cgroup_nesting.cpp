#include "agent/collect/cgroup_nesting.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace wattle::agent {

namespace {
using Counts = CgroupNesting::Counts;
using Value = std::optional<std::uint64_t>;

constexpr std::array<std::pair<std::uint64_t Counts::*, Value WorkloadValues::*>, 4> kCounts{{
    {&Counts::io_read_bytes, &WorkloadValues::io_read_bytes},
    {&Counts::io_write_bytes, &WorkloadValues::io_write_bytes},
    {&Counts::memory_high_events, &WorkloadValues::memory_high_events},
    {&Counts::memory_oom_kills, &WorkloadValues::memory_oom_kills},
}};

CgroupNesting& nesting_of(CgroupRoot& root) {
  if (!root.nesting) root.nesting = std::make_unique<CgroupNesting>();
  return *root.nesting;
}

// Subtracts `owed` from `from`, as far as `from` suffices.
void pay(std::uint64_t& from, std::uint64_t& owed) {
  const std::uint64_t paid = std::min(from, owed);
  from -= paid;
  owed -= paid;
}

// Calls `each` with the nearest roots below.
template <class F>
void for_each_within(const CgroupNode& node, const F& each) {
  if (!node.open) return;
  for (const auto& child : node.children) {
    if (child->gone) continue;
    if (!child->is_root)
      for_each_within(*child, each);
    else if (child->root)
      each(*child->root);
  }
}
}  // namespace

void take_own_usage(CgroupNode& node, WorkloadValues& values) {
  values.cpu_usage_us = node.usage_delta_us;
  if (!node.usage_delta_us || !node.open) return;
  CgroupNesting& nesting = nesting_of(*node.root);
  nesting.owed_us += node.within_us;
  pay(*values.cpu_usage_us, nesting.owed_us);
  values.nested_cpu_us = *node.usage_delta_us - *values.cpu_usage_us;
}

void take_own_counts(CgroupNode& node, WorkloadValues& values) {
  if (!node.nested && !node.open) return;
  CgroupNesting& nesting = nesting_of(*node.root);
  for (const auto& [count, value] : kCounts) nesting.gained.*count = (values.*value).value_or(0);
  if (!node.open) return;
  for_each_within(node, [&](const CgroupRoot& inner) {
    if (inner.nesting)
      for (const auto& [count, value] : kCounts) nesting.owed.*count += inner.nesting->gained.*count;
  });
  for (const auto& [count, value] : kCounts)
    if (Value& own = values.*value) pay(*own, nesting.owed.*count);
}

}  // namespace wattle::agent
