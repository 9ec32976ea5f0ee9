// decision_keeper: decisions that are new or know more, to the store, and what the store had, back into the log.
// Cost     rows are made once a second, or when many wait; nobody waits for the disk
// Errors   a row that cannot be read is logged and left out
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

class DecisionKeeper {
 public:
  // `store` null: nothing is kept.
  DecisionKeeper(Store* store, const Log& log) : store_(store), log_(log) {}
  // Those of before a restart, oldest first.
  void recall(Decider& decider) const;
  // `breathe` is called now and then while rows are made.
  void take(const DecisionLog& log, const std::set<std::uint64_t>& changed, MonoTime now,
            const std::function<void()>& breathe);
  // All that was taken, now.
  void flush(const DecisionLog& log, MonoTime now, const std::function<void()>& breathe);

 private:
  Store* store_;
  const Log& log_;
  std::set<std::uint64_t> waiting_;
  MonoTime flushed_{};
};

}  // namespace wattle::controller
