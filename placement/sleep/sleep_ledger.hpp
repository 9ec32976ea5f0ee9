// sleep_ledger: counts the sleeps, wakes and moves of the recent past, against the limits of the cluster. The
// controller keeps it in its store, so that a restart does not reset a limit.
// Moves    a pod moves at most once in `pod_rest`, an owner has at most one move in `owner_rest`, and all together at
//          most `moves_ratio` of the pods an hour (at least one)
// Bounds   entries older than the longest limit are dropped
// Units    wall time. An entry from the future, after the clock stepped back between two runs, counts until it is past
// Errors   unpack: the reader's
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/wall_step.hpp"
#include "placement/cluster/packed.hpp"
#include "placement/sleep/sleep_rules.hpp"

namespace wattle::placement::sleep {

struct MoveLimits {
  std::size_t at_once = 2;    // pods that were evicted and have not landed
  double moves_ratio = 0.02;  // of the pods, an hour
  Duration owner_rest = std::chrono::minutes(10);
  Duration pod_rest = std::chrono::hours(24);
  Duration landing = std::chrono::minutes(10);  // until an evicted pod runs elsewhere
  std::size_t misplacements = 2;                // after which a drain stops
};

class SleepLedger {
 public:
  void slept(WallTime now) { note(sleeps_, now); }
  void woke(WallTime now) { note(wakes_, now); }
  void moved(std::string_view pod, std::string_view owner, WallTime now);
  // Returns whether the pod rests, because it was moved or replaces one that was.
  bool knows(std::string_view pod) const { return pods_.contains(pod); }
  // The eviction was refused: the pod does not rest. The attempt counts in the share and for its owner.
  void did_not_move(std::string_view pod);
  // The pod that replaces one that was moved: it rests like that one.
  void replaced_by(std::string_view pod, WallTime now) { pods_[std::string(pod)] = now; }

  std::size_t sleeps_within(WallTime now, Duration past) const { return within(sleeps_, now, past); }
  std::size_t wakes_within(WallTime now, Duration past) const { return within(wakes_, now, past); }
  std::size_t moves_within(WallTime now, Duration past) const { return within(moves_, now, past); }
  // Moves that the hourly share still allows, with that many pods in the cluster.
  std::size_t moves_left(std::size_t pods, WallTime now, const MoveLimits& limits) const;
  // Why the pod may not move now; `none` if it may. Ignores the hourly share.
  Exclusion rests(std::string_view pod, std::string_view owner, WallTime now, const MoveLimits& limits) const;

  void forget_before(WallTime when);
  void move(const WallStep& step);
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp

 private:
  using Times = std::deque<WallTime>;
  static void note(Times& times, WallTime now) { times.push_back(now); }
  static std::size_t within(const Times& times, WallTime now, Duration past);

  Times sleeps_, wakes_, moves_;
  std::map<std::string, WallTime, std::less<>> pods_, owners_;  // last move
};

}  // namespace wattle::placement::sleep
