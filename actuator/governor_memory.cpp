// Sets memory.high of workloads at level limits, and memory.low of those at level protect.
#include <algorithm>

#include "actuator/governor.hpp"

namespace wattle::actuator {

using actuation::Level;

namespace {
constexpr Duration kMemoryEvery = std::chrono::seconds(5);
}  // namespace

void Governor::observe_memory(Workload& workload, MonoTime now) {
  const bool protects = workload.level == Level::protect;
  if ((!rules_.memory && !protects) || now - workload.memory_at < kMemoryEvery) return;
  workload.memory_at = now;
  auto use = workload.meter->memory();
  if (!use) {
    if (use.error().code != Errc::not_found) trouble(workload, use.error());
    return;
  }
  if (!*use) return;
  (*use)->used_us = workload.use->used_us;
  (*use)->throttled_us = workload.use->throttled_us;
  auto high = workload.memory.observe(**use, now, workload.memory_ratio);
  const bool moved = move_protection(workload, **use, now);
  if (protects) {
    if (moved && !workload.slow_since) apply(workload, now);
    return;
  }
  const auto original = workload.originals[Knob::high_bytes];
  if (!original) high.reset();
  if (high) high = std::min(*high, *original);
  workload.looks.add(**use, high, workload.memory.hurt());
  workload.memory_limited = high.has_value();
  if (!high) workload.memory_ratio = models::provision::kRuleMemory;  // initial value for the next limit
  if (high && *high == *original) high.reset();
  if (high == workload.high_bytes) return;
  workload.high_bytes = high;
  workload.grant.high_bytes = high;
  if (workload.level == Level::limits && workload.set && !workload.slow_since) apply(workload, now);
}

// Updates the protection that is reported. Returns true if memory.low must be written.
bool Governor::move_protection(Workload& workload, const MemoryUse& use, MonoTime now) {
  const auto original = workload.originals[Knob::low_bytes];
  if (!original) return false;
  const auto above = cgroups_.protection_above(*workload.cgroup);
  if (!above) {
    if (above.error().code != Errc::not_found && workload.level == Level::protect) trouble(workload, above.error());
    return false;
  }
  const std::int64_t wanted =
      workload.protection.observe(use.low_events, workload.memory.usual_bytes(), protectable_bytes(workload), now);
  const std::int64_t low = std::max(wanted, *original);
  workload.grant.low = actuation::Protection{low, std::min(low, above->bytes)};
  if (workload.level != Level::protect) return false;
  report_ancestor(workload, *above);
  const auto next = low > *original ? std::optional(low) : std::nullopt;
  if (next == workload.low_bytes) return false;
  workload.low_bytes = next;
  return true;
}

// Bytes that the other protected workloads leave.
std::int64_t Governor::protectable_bytes(const Workload& workload) const {
  std::int64_t left = rules_.most_protected_bytes;
  for (const auto& [path, other] : workloads_)
    if (other.get() != &workload && other->low_bytes) left = std::max<std::int64_t>(0, left - *other->low_bytes);
  return left;
}

void Governor::report_ancestor(Workload& workload, const AncestorProtection& above) {
  if (above.bytes > 0) {
    workload.least_ancestor.clear();
    return;
  }
  if (workload.least_ancestor == above.path) return;
  workload.least_ancestor = above.path;
  troubles_.push_back({Errc::unsupported, above.path + "/memory.low",
                       "is 0, so " + workload.path + " is protected only from other cgroups below " + above.path +
                           ", not from the rest of the node",
                       "set it to the sum that the cgroups below may protect, for a slice: systemctl set-property "
                       "system.slice MemoryLow=4G"});
}

}  // namespace wattle::actuator
