// start_window: counts recent pod starts per node, so that no node gets more in a window than its cap.
// Why      telemetry shows the usage of a started pod only after some seconds; without a cap, a burst would pile up on
//          the node that looks empty
// Rules    a pod counts on one node at a time, until a time that the caller sets; holding it again restarts or moves it
// Cost     logarithmic in the pods held
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.hpp"

namespace wattle {

// Maximum number of starts on a node within any window.
struct StartCap {
  double per_core = 1;      // per allocatable core
  std::uint64_t least = 8;  // minimum for small nodes and nodes of unknown size
  Duration window = std::chrono::seconds(10);
  std::uint64_t of(double cpu_cores) const;
};

class StartWindow {
 public:
  // Counts the pod on the node. Returns the node on which it counted before; empty: none.
  std::string hold(const std::string& pod_uid, const std::string& node, MonoTime until);
  // Stops counting the pod. Returns the node on which it counted; empty: none.
  std::string drop(const std::string& pod_uid);
  // Drops the pod only if `until` is still its end, that is, unless it was held again.
  std::string drop(const std::string& pod_uid, MonoTime until);
  // Drops the pods that count until `now` or earlier. Returns their nodes, with repetitions.
  std::vector<std::string> expire(MonoTime now);
  std::uint64_t count(const std::string& node) const;
  std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    std::string node;
    MonoTime until{};
  };
  std::unordered_map<std::string, Held> held_;  // keyed by pod UID
  std::unordered_map<std::string, std::uint64_t> counts_;
  std::set<std::pair<MonoTime, std::string>> ends_;  // an entry per held pod
};

}  // namespace wattle
