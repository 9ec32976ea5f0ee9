// owner_sizing: the state of one owner's lowered requests, which survives a restart, and the order that follows from
// it.
// Units    cores and bytes per pod; seconds of the wall clock
// Errors   unpack: the reader's; the state is then unchanged
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"
#include "provision/requests/harm_watch.hpp"

namespace wattle::placement {

struct SizingOptions {
  double step_ratio = 0.25;                            // of a request, in one step
  double dead_ratio = 0.1, memory_dead_ratio = 0.05;   // smaller changes are not worth a write
  double settle_s = 1800;                              // measured before the next step, and before another owner
  double shadow_s = 3600;                              // observed before the first step
  double over_memory_s = 6 * 3600;                     // without a need above the new memory request
  double over_cpu_ratio = 0.05;                        // of the time, where the CPU limit falls with the request
  double excluded_s = 86'400;                          // after harm
  double need_pause_s = 6 * 3600;                      // after the rule suggested more than was set
  double patience_s = 300;                             // for a pod to get its request
  double restore_late_s = 120;                         // until a restoration counts as late
  double retry_s = 600, longest_retry_s = 6 * 3600;    // after a failed resize; doubles
  std::size_t pods_at_a_time = 5, pods_per_hour = 60;  // over all owners
  std::size_t canary_owners = 1, live_owners = 4;      // being changed or settling at a time
  std::size_t most_pods = 500;                         // of an owner
};

enum class SizingState : std::uint8_t { watched, lowering, held, restoring, waiting };
std::string_view to_string(SizingState state);

// The time that the pods would have spent over a smaller request.
struct ShadowUse {
  double since_s = 0;
  double seconds = 0, over_cpu_s = 0;  // of pods, decaying with a day
  double at_s = 0;
  double over_memory_at_s = 0;  // the last time; 0: never
  double over_memory = 0;       // times
  void add(bool over_cpu, bool over_memory_now, double of_s, double now_s);
  double over_cpu_ratio() const { return seconds > 0 ? over_cpu_s / seconds : 0; }
};

struct LoweredPod {
  Resources before;
  double at_s = 0;       // of the last order
  bool applied = false;  // the pod has the target
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
};

struct OwnerSizing {
  SizingState state = SizingState::watched;
  double since_s = 0;                         // of the state
  double until_s = 0;                         // end of the pause, in and after `restoring`
  std::string why;                            // of a restoration, a pause, or of a pod that waits for its kubelet
  Resources original, target;                 // per pod
  std::map<std::string, LoweredPod> lowered;  // by UID
  HarmBefore before;
  double changed_s = 0;  // of the first step
  ShadowUse shadow;
  std::vector<double> ordered_s;  // pods ordered in the last hour
  std::uint64_t tries = 0;        // failed in a row
  std::uint64_t steps = 0, rollbacks = 0;
  double rolled_back_s = 0;  // for harm, the last time; 0: never
  bool late = false;         // a restoration is late, and that was recorded
  // Moves all times with a step of the wall clock.
  void move(const WallStep& step);
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp
};

// raise: as without permission to shrink. hold: no change.
enum class SizingOrderKind : std::uint8_t { raise, hold, lower, restore };
std::string_view to_string(SizingOrderKind kind);

struct SizingOrder {
  SizingOrderKind kind = SizingOrderKind::raise;
  Resources target;               // lower
  std::vector<std::string> pods;  // lower
};
SizingOrder order_of(const OwnerSizing& state);

// True while the owner counts against the bound of owners.
bool is_busy(const OwnerSizing& state, double now_s, const SizingOptions& options);
std::size_t pods_in_flight(const OwnerSizing& state);
std::size_t pods_ordered(const OwnerSizing& state, double now_s);

// Deterministic for a share and seed; a larger share includes the owners of a smaller one.
bool in_share(std::string_view owner, std::uint64_t seed, double share);

}  // namespace wattle::placement
