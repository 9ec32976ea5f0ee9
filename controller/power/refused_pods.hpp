// refused_pods: finds pods that stay unschedulable although nothing has changed for a while: their scheduler refuses
// all awake nodes, even where the plan sees room, for reasons that the plan does not know (taints, devices, volumes,
// ports, spreading). Only a sleeping node can take such a pod.
// Limits   a pod counts kSettled after it became unschedulable, and after the last node became awake. One owner's pods
//          wake at most kTries nodes, and further ones only kForgotten after the last: a pod may fit on no node
// Errors   unpack: the reader's
// Threads  single owner
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/wall_step.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::controller::power {

class RefusedPods {
 public:
  static constexpr Duration kSettled = std::chrono::seconds(30), kForgotten = std::chrono::hours(1);
  static constexpr std::size_t kTries = 3;

  // Packs the tries of owners, which a restart must not allow again.
  void pack(placement::PackWriter& out) const;
  void unpack(placement::PackReader& in);
  // Call before each plan. `changed_at`: when the last node became awake.
  void begin(WallTime now, WallTime changed_at);
  // Moves all times with a step of the wall clock. Call before begin().
  void move(const WallStep& step);
  // Call once for each unschedulable pod of that plan. An empty owner: the pod has none.
  bool refused(const std::string& uid, const std::string& owner);
  // Records that the plan wakes a node for these pods.
  void woke_for(const std::vector<std::string>& uids);

 private:
  struct Seen {
    WallTime since{}, seen{};
    std::string owner;
    bool refused = false;
  };
  struct Owner {
    std::size_t tries = 0;
    WallTime last{};
    template <class V>
    void fields(V& v) {
      v(tries, last);
    }
  };
  WallTime now_{}, changed_at_{};
  std::map<std::string, Seen> pods_;  // by uid
  std::map<std::string, Owner> owners_;
};

}  // namespace wattle::controller::power
