// power_store: the interface to the storage of nodes' power records. The controller stores a record before
// it acts on it.
// Promise  rows whose keep() succeeded are on disk, all or none of them
// Bounds   those of the history (power_history.hpp); the records of at most kMostNodes nodes
// Errors   keep: as common/sqlite/database.hpp, or unavailable; the caller tries the same rows again. load: the same
// Threads  load() and keep() of one thread
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "controller/power/power_history.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller {
class Store;
}  // namespace wattle::controller

namespace wattle::controller::power {

struct PowerRow {
  std::string node;
  std::optional<placement::sleep::NodePowerRecord> record;  // of load(): unset if it is unreadable
  std::string hello;  // last Hello of its agent, encoded, by which a restarted controller knows a node that sleeps
};

struct PowerRows {
  std::vector<PowerRow> nodes;
  std::vector<SleepTransition> transitions;  // of keep(): the new ones; oldest first
  std::string sums;                          // packed by power_records; empty: unchanged, or none
};

class PowerStore {
 public:
  static constexpr std::size_t kMostNodes = 8192;
  virtual ~PowerStore() = default;
  virtual Result<PowerRows> load() = 0;
  // Returns at once; the future is ready when the rows are on disk. The text of its result is empty.
  virtual std::future<Result<std::string>> keep(PowerRows rows) = 0;
};

// Returns one in the controller's store, which must be on and outlive it.
std::unique_ptr<PowerStore> power_store_in(Store& store);

}  // namespace wattle::controller::power
