// board: scores pods from the last board that the controller published, and counts the pods that this shim has sent to
// each node since.
// Rules    a board is valid for its ttl_ms from receipt; within one epoch only a higher seq replaces it. A pod's class
//          is the first whose upper end is at least its CPU request, otherwise the last; a node that the class does not
//          list gets 0. A node at its start cap gets 0, too: the board has the remaining starts per node, minus the
//          starts that this shim has assigned since. The best of the others gets 10, so that the pod's node is known
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
  std::vector<std::int64_t> scores;  // a score per candidate
  std::size_t capped = 0;            // candidates that got 0 only because of their start cap
  bool all_capped() const;           // no candidate is left
};

class BoardKeeper {
 public:
  void receive(wire::Board board, MonoTime now);
  BoardState state(MonoTime now) const;
  // Scores the candidates while state() is fresh; otherwise no value. Counts the pod on the node with the highest
  // score.
  std::optional<BoardScores> take(const wire::Ask& ask, MonoTime now);
  // Names at most `most` nodes for a pod of this size, best first; none while state() is not fresh. Leaves out nodes at
  // their start cap.
  std::vector<std::string> best(double cpu_request_cores, std::size_t most, MonoTime now) const;
  // Makes the current board neutral until the next one arrives, after the controller answered that its mode is off or
  // shadow.
  void stop();
  // Counts a pod that a decision of the controller assigns to a node.
  void given(const std::string& pod_uid, const std::string& node, std::uint64_t decision_id, MonoTime now);
  // Time since the last board arrived.
  std::optional<Duration> age(MonoTime now) const;

 private:
  struct Advised {  // advised by the controller
    std::uint64_t decision_id = 0;
    std::string key;
    MonoTime until{};
  };
  BoardState state_of(MonoTime now) const;
  const wire::BoardClass& class_of(double cpu_request_cores) const;
  void cap(const wire::Ask& ask, BoardScores& answer, MonoTime now);
  std::string key_of(const std::string& pod_uid);
  MonoTime hold(const std::string& key, const std::string& node, MonoTime now);
  mutable std::mutex mutex_;  // guards everything below
  std::optional<wire::Board> board_;
  MonoTime received_{};
  StartWindow given_;            // starts that the board does not include
  std::deque<Advised> advised_;  // ordered by time
  std::uint64_t nameless_ = 0;
};

}  // namespace wattle::shim
