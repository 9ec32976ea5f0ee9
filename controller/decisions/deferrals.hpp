// deferrals: keeps the deadline until which each pod may wait. The first ask that permits waiting starts the pod's
// time. A later ask may shorten it and never lengthens it, also after a restart (stored decisions contain the
// deadline).
// Bounds   kMax pods; further pods, and pods without a UID, are not deferred. A deadline is kept for kRemember after it
//          has passed, so that a later ask of the pod is placed
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "common/clock.hpp"

namespace wattle::controller {

class Deferrals {
 public:
  static constexpr std::size_t kMax = 20'000;
  static constexpr Duration kLongest = std::chrono::hours(1);  // upper limit of any permission
  static constexpr Duration kRemember = std::chrono::minutes(10);

  // Returns how long the pod may still wait. `permitted`: time that this ask permits. If it is 0 or less, the pod may
  // not wait and no deadline is kept.
  Duration left(const std::string& pod_uid, Duration permitted, MonoTime now);
  // Restores a deadline from before a restart.
  void recall(const std::string& pod_uid, MonoTime until);
  void expire(MonoTime now);
  std::size_t size() const { return until_.size(); }

 private:
  std::unordered_map<std::string, MonoTime> until_;  // by pod UID
  MonoTime expired_{};                               // when passed deadlines were last dropped
};

}  // namespace wattle::controller
