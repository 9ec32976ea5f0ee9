// wake_waits: measures how long pods wait for a node that was woken for them, from the order to wake until they have a
// node.
// Bounds   kMostWaiting pods; more are not followed
// Units    s
// Errors   unpack: the reader's
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
#include "placement/cluster/packed.hpp"

namespace wattle::controller::power {

class WakeWaits {
 public:
  static constexpr std::size_t kMostWaiting = 10'000;
  void wake_for(const std::vector<std::string>& pods, MonoTime now) {
    for (const std::string& uid : pods)
      if (since_.size() < kMostWaiting) since_.try_emplace(uid, now);
  }
  // Packs wall times, because the monotonic clock may restart with the program.
  void pack(placement::PackWriter& out, const Clock& clock) const {
    out.word(since_.size());
    for (const auto& [uid, since] : since_) {
      out.text(uid);
      out.word(static_cast<std::uint64_t>(to_ns(clock.wall() - (clock.mono() - since))));
    }
  }
  void unpack(placement::PackReader& in, const Clock& clock) {
    constexpr std::size_t kLeastBytes = 16;
    for (std::size_t left = in.count(kLeastBytes); left > 0 && in.ok(); --left) {
      const std::string uid = in.text();
      const Duration waited = clock.wall() - wall_from_ns(static_cast<std::int64_t>(in.word()));
      if (in.ok() && waited >= Duration(0)) since_.try_emplace(uid, clock.mono() - waited);
    }
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
