// sleep_memory: what sleep_control keeps over a restart, in the store: the nodes that operators exclude and the outlook
// of demand.
// Errors   logged: a failed read starts empty, and a failed write is lost at the next restart
// Threads  the loop's; reads and writes run on the store's
#pragma once

#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
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
// An empty `why` ends the exclusion. `log` outlives the store.
void keep_exclusion(Store& store, const Log& log, const std::string& node, const std::string& why, WallTime now);

}  // namespace wattle::controller::power
