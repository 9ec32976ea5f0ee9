// start_window: how many pods each node was given of late, so that no node is given more in a window than its cap. Telemetry tells what a
//          started pod uses only after some seconds; a burst that is placed meanwhile must not pile up where room is seen.
// Rules    a pod counts on one node at a time, until a time that its holder names; held again it counts anew, elsewhere it moves
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

// Starts that a node may be given within any window.
struct StartCap {
  double per_core = 1;      // of what the node allocates
  std::uint64_t least = 8;  // of a node however small, and of one of unknown size
  Duration window = std::chrono::seconds(10);
  std::uint64_t of(double cpu_cores) const;
};

class StartWindow {
 public:
  // The node that it counted on before; empty: it did not count.
  std::string hold(const std::string& pod_uid, const std::string& node, MonoTime until);
  // It counts no more. The node that it counted on; empty: it did not count.
  std::string drop(const std::string& pod_uid);
  // The same, unless it was held anew since it was held until then.
  std::string drop(const std::string& pod_uid, MonoTime until);
  // Drops what counted until now or before; the nodes that it counted on, some perhaps several times.
  std::vector<std::string> expire(MonoTime now);
  std::uint64_t count(const std::string& node) const;
  std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    std::string node;
    MonoTime until{};
  };
  std::unordered_map<std::string, Held> held_;  // by pod UID
  std::unordered_map<std::string, std::uint64_t> counts_;
  std::set<std::pair<MonoTime, std::string>> ends_;  // of each that is held
};

}  // namespace wattle
