// prioritizer: scores a pod's candidates, even if the controller fails.
// Rules    bound pod: neutral; same pod and candidates within 2 s: the same answer; otherwise the controller within the
//          deadline unless the breaker is open; otherwise the board while it is fresh; otherwise neutral (all 0). With
//          bound_scores, the best node of a pod with soft preferences gets at most kBoundedScore, and all others get 0.
//          The board knows neither owners nor taints, so its scores are always bounded for a pod with preferences or an
//          owner
// Errors   none: always returns one integer 0..10 per candidate
// Threads  any
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "common/wire/messages.hpp"
#include "shim/board.hpp"
#include "shim/breaker.hpp"
#include "shim/recent_answers.hpp"

namespace wattle::shim {

enum class Source { controller, repeated, board, neutral };
std::string_view to_string(Source source);

struct Scores {
  std::vector<std::int64_t> scores;
  Source source = Source::neutral;
  // Fixed word: "scored", "neutral" (the controller's answer), "already_bound", "no_candidates", a BoardState,
  // "start_cap" (every candidate on the board is at its cap), or, for the board, "breaker_open" or the Errc with which
  // the controller failed.
  std::string_view reason;
  bool without_controller = false;  // the controller should have answered, but did not or was not asked
  std::string failure;              // why the controller did not answer, for the log; empty if it did or was not asked
};

// Smallest score that kube-scheduler can add: 10 times the extender's weight.
inline constexpr std::int64_t kBoundedScore = 1;
// Gives the limit to the best candidate and 0 to all others.
void bound_to(std::int64_t limit, std::vector<std::int64_t>& scores);

// Reports to the breaker whether the controller answered in time; a malformed answer counts as answered.
void note(Breaker& breaker, const Error* error);

// May change the ask's request_id and deadline_ms.
using Asker = std::function<Result<wire::Suggestion>(wire::Ask&, std::chrono::milliseconds deadline)>;

class Prioritizer {
 public:
  // Board, breaker and clock must outlive this object.
  Prioritizer(Asker asker, BoardKeeper& board, Breaker& breaker, const Clock& clock, std::chrono::milliseconds deadline,
              bool bound_scores = true)
      : asker_(std::move(asker)),
        board_(board),
        breaker_(breaker),
        clock_(clock),
        deadline_(deadline),
        bound_scores_(bound_scores) {}
  // Lends the ask to the asker, because copying a thousand names would take a seventh of the answer's time.
  Scores scores(wire::Ask& ask);
  Scores scores(wire::Ask&& ask) { return scores(ask); }

 private:
  Result<wire::Suggestion> ask_controller(wire::Ask& ask) const;
  Result<wire::Suggestion> ask_once(wire::Ask& ask) const;
  Asker asker_;
  BoardKeeper& board_;
  Breaker& breaker_;
  const Clock& clock_;
  const std::chrono::milliseconds deadline_;
  const bool bound_scores_;
  RecentAnswers recent_;
};

}  // namespace wattle::shim
