// board: the last board that the controller published, what it says about a pod, and what this shim has given out since.
// Rules    valid for its ttl_ms from receipt; of one epoch only a higher seq replaces; the class is the first whose upper
//          end holds the pod's CPU request, else the last; a node that the class does not name gets 0.
//          So does one at its start cap: the board tells how many pods each node may still be given, and what was given out here
//          and it knows nothing of counts against that. The best of the others gets 10, so that it is known where the pod goes
// Units    scores 0..10
// Threads  any
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/start_window.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

enum class BoardState { none, stale, neutral, fresh };
std::string_view to_string(BoardState state);

struct BoardScores {
  std::vector<std::int64_t> scores;  // one per candidate
  std::size_t capped = 0;            // candidates that got 0 for their start cap alone
  bool all_capped() const;           // none is left
};

class BoardKeeper {
 public:
  void receive(wire::Board board, MonoTime now);
  BoardState state(MonoTime now) const;
  // While state() is fresh, else nothing. The pod counts on the node that got the most.
  std::optional<BoardScores> take(const wire::Ask& ask, MonoTime now);
  // An answer of the controller says that nothing acts: the board that is here scores nothing more, and the next one is awaited.
  void stop();
  // The controller's answer, of that decision, sends the pod there.
  void given(const std::string& pod_uid, const std::string& node, std::uint64_t decision_id, MonoTime now);
  // Since the last board came.
  std::optional<Duration> age(MonoTime now) const;

 private:
  struct Advised {  // by the controller
    std::uint64_t decision_id = 0;
    std::string key;
    MonoTime until{};
  };
  BoardState state_of(MonoTime now) const;
  const wire::BoardClass& class_of(const wire::Ask& ask) const;
  void cap(const wire::Ask& ask, BoardScores& answer, MonoTime now);
  std::string key_of(const std::string& pod_uid);
  MonoTime hold(const std::string& key, const std::string& node, MonoTime now);
  mutable std::mutex mutex_;  // guards all below
  std::optional<wire::Board> board_;
  MonoTime received_{};
  StartWindow given_;            // that the board does not know of
  std::deque<Advised> advised_;  // in order of time
  std::uint64_t nameless_ = 0;
};

}  // namespace wattle::shim
