// wake_waits: how long pods wait for a node that was woken for them, from the order to wake until they have a node.
// Bounds   kMostWaiting pods; more are not followed
// Units    s
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "controller/power/power_history.hpp"

namespace wattle::controller::power {

class WakeWaits {
 public:
  static constexpr std::size_t kMostWaiting = 10'000;
  void wake_for(const std::vector<std::string>& pods, MonoTime now) {
    for (const std::string& uid : pods)
      if (since_.size() < kMostWaiting) since_.try_emplace(uid, now);
  }
  bool empty() const { return since_.empty(); }
  // Counts the pods that have a node now. `placed`: whether the pod has one; no value if the pod is gone.
  template <class Placed>
  void look(const Placed& placed, MonoTime now, SleepTotals& totals) {
    std::erase_if(since_, [&](const auto& item) {
      const std::optional<bool> there = placed(item.first);
      if (there && !*there) return false;
      if (!there) return true;
      ++totals.waited_pods;
      totals.waited_s += seconds(now - item.second);
      return true;
    });
  }

 private:
  std::map<std::string, MonoTime> since_;
};

}  // namespace wattle::controller::power
