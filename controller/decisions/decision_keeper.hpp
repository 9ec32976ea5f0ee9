// decision_keeper: writes new and changed decisions to the store, and reloads the stored ones into the log.
// Cost     rows are built once a second, or when many wait; no caller waits for the disk
// Errors   a row that cannot be read is logged and left out
// Threads  single owner
#pragma once

#include <cstdint>
#include <set>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/steps.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

class DecisionKeeper {
 public:
  DecisionKeeper(Store& store, const Log& log) : store_(store), log_(log) {}
  // Loads the decisions from before a restart, oldest first.
  void recall(Decider& decider) const;
  // Records the changed decisions and returns the work that writes those that are due.
  Steps take(const DecisionLog& log, const std::set<std::uint64_t>& changed, MonoTime now);
  // Writes all pending decisions now.
  Steps flush(const DecisionLog& log, MonoTime now);

 private:
  Store& store_;
  const Log& log_;
  std::set<std::uint64_t> waiting_;
  MonoTime flushed_{};
};

}  // namespace wattle::controller
