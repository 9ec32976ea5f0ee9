// board: the last board that the controller published, and what it says about a pod.
// Rules    valid for its ttl_ms from receipt; of one epoch only a higher seq replaces; the class is the first whose upper
//          end holds the pod's CPU request, else the last; a node that the class does not name gets 0
// Units    scores 0..10
// Threads  any
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

enum class BoardState { none, stale, neutral, fresh };
std::string_view to_string(BoardState state);

class BoardKeeper {
 public:
  void receive(wire::Board board, MonoTime now);
  BoardState state(MonoTime now) const;
  // One score per candidate while state() is fresh, else nothing.
  std::optional<std::vector<std::int64_t>> scores(const wire::Ask& ask, MonoTime now) const;
  // Since the last board came.
  std::optional<Duration> age(MonoTime now) const;

 private:
  BoardState state_of(MonoTime now) const;
  mutable std::mutex mutex_;  // guards both below
  std::optional<wire::Board> board_;
  MonoTime received_{};
};

}  // namespace wattle::shim
