// pending_pods: pods without room, as in kube-scheduler's queue. Retries the longest waiting pod first, at the earliest
// kRetry_s after its last attempt, once a machine has room for its requests. Retries a deferred pod at the
// time that the decision set.
// Units    seconds of the world
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/world/world.hpp"

namespace wattle::sim {

// The longest time that kube-scheduler lets an unschedulable pod wait after room has become free.
inline constexpr double kRetry_s = 10;

class PendingPods {
 public:
  struct Pod {
    SimPod pod;
    std::uint64_t id = 0;  // assigned by the caller
    double since_s = 0, tried_s = 0;
    std::optional<double> again_s;  // set if deferred until then
  };

  void add(Pod pod);
  // Removes and returns a due pod for which a machine has room now.
  std::optional<Pod> take(const World& world);
  // Returns the time of the next possible attempt; infinity if there is none.
  double next_s() const;
  double waited_s(double until_s) const;  // summed over all
  std::size_t size() const { return pods_.size(); }
  const std::deque<Pod>& pods() const { return pods_; }
  void clear() { pods_.clear(); }

 private:
  std::deque<Pod> pods_;  // the longest waiting first
};

}  // namespace wattle::sim
