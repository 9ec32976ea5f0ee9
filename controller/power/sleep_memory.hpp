// sleep_memory: what sleep_control keeps over a restart, in the store: the nodes that operators exclude and the outlook
// of demand.
// Errors   logged: a failed read starts empty. A failed write of an exclusion is tried again each minute; the outlook
//          is written with each plan
// Threads  the loop's; reads and writes run on the store's
#pragma once

#include <future>
#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "placement/sleep/demand_outlook.hpp"

namespace wattle::controller {
class Store;
}

namespace wattle::controller::power {

struct SleepMemory {
  std::map<std::string, std::string> exclusions;  // reason by node
  placement::sleep::DemandOutlook outlook;
};

// Call with a store that is on.
SleepMemory read_memory(Store& store, const Log& log);
void keep_outlook(Store& store, const placement::sleep::DemandOutlook& outlook, WallTime now);

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
