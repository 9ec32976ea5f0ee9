// printed_decisions: tracks the decisions that `wattle decisions -w` has printed. The feed sends a decision when it
// is made, and again when its placement and its outcome become known; each is printed once.
// Bounds   remembers the newest kMost
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "common/wire/messages.hpp"

namespace wattle::cli {

class PrintedDecisions {
 public:
  static constexpr std::size_t kMost = 4096;
  // True for a new decision that was not printed yet. A decision with an outcome is not new.
  bool take(const wire::Decision& decision);

 private:
  using Key = std::pair<std::uint64_t, std::int64_t>;  // without a store, a controller restarts its numbers at 1
  std::set<Key> printed_;
  std::deque<Key> in_order_;
};

}  // namespace wattle::cli
