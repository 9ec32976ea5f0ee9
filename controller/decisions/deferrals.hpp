// deferrals: until when pods may be told to wait. The first ask of a pod that permits it starts its time; a later one may shorten it and never
// lengthens it, over a restart too (decisions say until when).
// Bounds   kMax pods; beyond them, and without a UID, nobody is told to wait. A deadline is remembered for kRemember after it, so that who
//          asks again then is placed
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/clock.hpp"

namespace wattle::controller {

class Deferrals {
 public:
  static constexpr std::size_t kMax = 20'000;
  static constexpr Duration kLongest = std::chrono::hours(1);  // more is permitted by nobody
  static constexpr Duration kRemember = std::chrono::minutes(10);

  // How long the pod may wait yet. `permitted`: what this ask permits; 0 or less: nothing, and nothing is remembered.
  Duration left(const std::string& pod_uid, Duration permitted, MonoTime now);
  // It was told before a restart to wait until then at most.
  void recall(const std::string& pod_uid, MonoTime until);
  void expire(MonoTime now);
  std::size_t size() const { return until_.size(); }

 private:
  void set(const std::string& pod_uid, MonoTime until);

  std::unordered_map<std::string, MonoTime> until_;      // by pod UID
  std::set<std::pair<MonoTime, std::string>> in_order_;  // the same
};

}  // namespace wattle::controller
