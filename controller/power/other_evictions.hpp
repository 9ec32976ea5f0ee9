// other_evictions: the recent evictions of pods by other programs: descheduler, kubectl drain, Cluster Autoscaler.
// Counts   those whose replacement has not started yet take the place of Wattle's own moves at once; power_drain enters
//          each in the stored ledger, so that they count in the hourly share and for the owner's rest over a restart
// Bounds   an eviction is forgotten after kRemembered
// Errors   none
// Threads  values; single owner
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/clock.hpp"

namespace wattle::controller::power {

class OtherEvictions {
 public:
  static constexpr Duration kRemembered = std::chrono::minutes(10);  // as an owner's rest, and the limit for a landing

  // `owner`: empty: no other pod replaces it.
  void add(std::string node, std::string pod, std::string owner, MonoTime now);
  // A pod of the owner started. Returns whether it replaces one of these.
  bool landed(const std::string& owner);
  std::size_t in_flight(MonoTime now) const;
  // Why the node is left alone: the last pod that another program evicted from it; empty: none.
  std::string reason(const std::string& node, MonoTime now) const;

 private:
  struct Eviction {
    std::string node, pod, owner;
    MonoTime at{};
    bool landed = false;
  };
  std::vector<Eviction> all_;  // oldest first
};

}  // namespace wattle::controller::power
