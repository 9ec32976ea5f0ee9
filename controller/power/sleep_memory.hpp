// sleep_memory: the state that sleep_control keeps in the store over a restart: the nodes that operators exclude, the
// outlook of demand, the pods that wait for a wake, and how often refused pods have woken nodes.
// Errors   logged: a failed read starts empty. A failed write of an exclusion is tried again each minute; the others
//          are written with each plan
// Threads  the loop's; reads and writes run on the store's
#pragma once

#include <future>
#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "controller/power/refused_pods.hpp"
#include "controller/power/wake_waits.hpp"
#include "placement/sleep/demand_outlook.hpp"

namespace wattle::controller {
class Store;
}

namespace wattle::controller::power {

struct SleepMemory {
  std::map<std::string, std::string> exclusions;  // reason by node
  placement::sleep::DemandOutlook outlook;
  RefusedPods refused;
  WakeWaits waits;
};

// Call with a store that is on.
SleepMemory read_memory(Store& store, const Clock& clock, const Log& log);
// Keeps all but the exclusions.
void keep_memory(Store& store, const SleepMemory& memory, const Clock& clock);

class ExclusionWriter {
 public:
  // An empty `why` ends the exclusion. The next turn writes it.
  void put(const std::string& node, const std::string& why) { unwritten_[node] = why; }
  // Call each second.
  void turn(Store& store, const Log& log, const Clock& clock);

 private:
  std::map<std::string, std::string> unwritten_, writing_;
  std::optional<std::future<Result<std::string>>> write_;
  MonoTime retry_at_{};
};

}  // namespace wattle::controller::power
