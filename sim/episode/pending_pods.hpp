// pending_pods: pods that no machine had room for, as kube-scheduler keeps them: each is tried again, the longest waiting first, kRetry_s after
// it was tried at the earliest, once a machine has what it requests. One that a decision put off is asked about again when that said so.
// Units    seconds of the world
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "sim/world/world.hpp"

namespace wattle::sim {

// As long as kube-scheduler lets a pod wait at most that fitted nowhere, when room has come since.
inline constexpr double kRetry_s = 10;

class PendingPods {
 public:
  struct Pod {
    SimPod pod;
    std::uint64_t id = 0;  // the caller's
    double since_s = 0, tried_s = 0;
    std::optional<double> again_s;  // it was put off until then
  };

  void add(Pod pod);
  // One that a machine has room for now, if its time has come; it is pending no more.
  std::optional<Pod> take(const World& world);
  // When one may be tried; infinity: there is none.
  double next_s() const;
  double waited_s(double until_s) const;  // summed over all
  std::size_t size() const { return pods_.size(); }
  const std::deque<Pod>& pods() const { return pods_; }
  void clear() { pods_.clear(); }

 private:
  std::deque<Pod> pods_;  // the longest waiting first
};

}  // namespace wattle::sim
