// new_name_limit: limits how many new workload names a node may add, because each has a permanent row in the ledger.
// Bounds   `burst` at once, kNewPerS on average; remembers up to twice `burst` recent names, so that a name counts once
// Errors   none
// Threads  single owner
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "common/clock.hpp"

namespace wattle::controller {

class NewNameLimit {
 public:
  static constexpr double kNewPerS = 4;
  explicit NewNameLimit(std::size_t burst) : burst_(burst), room_(static_cast<double>(burst)) {}

  // Returns how many may be added now.
  std::size_t room(MonoTime now) {
    if (now > at_) room_ = std::min(static_cast<double>(burst_), room_ + seconds(now - at_) * kNewPerS);
    at_ = std::max(at_, now);
    return static_cast<std::size_t>(room_);
  }
  // Takes room for a name that the caller remembers. Returns false if there is no room.
  bool take(MonoTime now) {
    if (room(now) == 0) return false;
    room_ = std::max(0.0, room_ - 1);
    return true;
  }
  bool knows(const std::string& name) const { return now_.contains(name) || before_.contains(name); }
  void note(const std::string& name) {
    if (knows(name)) return;
    room_ = std::max(0.0, room_ - 1);
    if (now_.size() >= burst_) before_ = std::exchange(now_, {});
    now_.insert(name);
  }

 private:
  std::size_t burst_;
  double room_;
  MonoTime at_{};
  std::unordered_set<std::string> now_, before_;
};

}  // namespace wattle::controller
