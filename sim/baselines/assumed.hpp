// assumed: pods that were bound but that telemetry cannot show yet, with what a scheduler assumes of their use; every load-aware
// scheduler of the field keeps such a list.
// Units    cores, bytes; times of the view's clock
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <deque>

#include "placement/cluster_view.hpp"

namespace wattle::sim {

class AssumedPods {
 public:
  void add(std::size_t node, MonoTime at, placement::Resources use) { pods_.push_back({node, at, use}); }
  // Of pods on `node` bound after `since`; forgets those that are older than an hour.
  placement::Resources sum(std::size_t node, MonoTime since, MonoTime now) {
    while (!pods_.empty() && now - pods_.front().at > from_seconds(3600)) pods_.pop_front();
    placement::Resources sum;
    for (const Entry& each : pods_) {
      if (each.node != node || each.at <= since) continue;
      sum.cpu_cores += each.use.cpu_cores;
      sum.memory_bytes += each.use.memory_bytes;
    }
    return sum;
  }

 private:
  struct Entry {
    std::size_t node;
    MonoTime at;
    placement::Resources use;
  };
  std::deque<Entry> pods_;
};

}  // namespace wattle::sim
