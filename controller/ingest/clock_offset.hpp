// clock_offset: estimates how far a node's wall clock is ahead of ours, from its records.
// Model    (node's wall clock when it made a record - ours on arrival) = offset - delay. The largest value of the last
//          30 to 60 s is the best estimate; records that waited in a spool give lower values, which newer ones outweigh
// Units    nanoseconds in, seconds out; positive: the node is ahead
// Threads  single owner
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::controller {

class ClockOffset {
 public:
  void see(std::int64_t node_wall_ns, std::int64_t our_wall_ns, MonoTime now) {
    const std::int64_t ahead_ns = node_wall_ns - our_wall_ns;
    if (!since_ || now - *since_ >= kHalf) {
      before_ns_ = since_ && now - *since_ < 2 * kHalf ? now_ns_ : ahead_ns;
      now_ns_ = ahead_ns;
      since_ = now;
    }
    now_ns_ = std::max(now_ns_, ahead_ns);
  }
  // No value if no record was seen.
  std::optional<double> ahead_s() const {
    if (!since_) return std::nullopt;
    return static_cast<double>(std::max(now_ns_, before_ns_)) * 1e-9;
  }

 private:
  static constexpr Duration kHalf = std::chrono::seconds(30);
  std::optional<MonoTime> since_;
  std::int64_t now_ns_ = 0, before_ns_ = 0;
};

// The offsets of all nodes.
class ClockOffsets {
 public:
  // Ignores records of an earlier incarnation than the session's, because they waited long.
  void see(const std::string& node, const Record& newest, std::uint64_t incarnation, const Clock& clock) {
    if (newest.incarnation == incarnation && newest.wall_ns > 0)
      of_[node].see(newest.wall_ns, to_ns(clock.wall()), clock.mono());
  }
  std::optional<double> ahead_s(const std::string& node) const {
    const auto found = of_.find(node);
    return found == of_.end() ? std::nullopt : found->second.ahead_s();
  }

 private:
  std::unordered_map<std::string, ClockOffset> of_;
};

}  // namespace wattle::controller
