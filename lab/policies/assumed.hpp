// assumed: bound pods that telemetry cannot show yet, with the usage that a scheduler assumes for them. Every
// load-aware scheduler of the field keeps such a list.
// Units    cores, bytes; seconds on the view's clock
// Errors   none
// Threads  single owner
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

inline double on_view_clock_s(MonoTime at) { return seconds(at.time_since_epoch()); }

class AssumedPods {
 public:
  void add(std::string_view node, double at_s, Resources use) { pods_[std::string(node)].push_back({at_s, use}); }
  // Sums over the pods on `node` that were bound after `since_s`. Drops entries older than an hour.
  Resources sum(const std::string& node, double since_s, double now_s) {
    Resources sum;
    const auto found = pods_.find(node);
    if (found == pods_.end()) return sum;
    std::deque<Entry>& pods = found->second;
    while (!pods.empty() && now_s - pods.front().at_s > 3600) pods.pop_front();
    for (const Entry& each : pods) {
      if (each.at_s <= since_s) continue;
      sum.cpu_cores += each.use.cpu_cores;
      sum.memory_bytes += each.use.memory_bytes;
    }
    if (pods.empty()) pods_.erase(found);
    return sum;
  }

 private:
  struct Entry {
    double at_s;
    Resources use;
  };
  std::unordered_map<std::string, std::deque<Entry>> pods_;
};

}  // namespace wattle::placement
