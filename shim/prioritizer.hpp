// prioritizer: which scores a pod's candidates get, whatever has failed behind us.
// Rules    already bound -> neutral; the same pod and candidates within 2 s -> the same answer; the controller within the
//          deadline, unless the breaker is open; else the board while it is fresh; else neutral (all 0).
//          With bound_scores a pod with soft preferences gets at most kBoundedScore: its node that, all others 0. The board knows
//          neither owners nor taints, so from it every pod that has preferences or an owner is bounded, whatever bound_scores says
// Errors   none: there is always one integer 0..10 per candidate
// Threads  any
#pragma once

#include <chrono>
#include <cstddef>
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
  // One of few fixed words: "scored", "neutral" (the controller means it), "already_bound", "no_candidates", a BoardState,
  // "start_cap" (every candidate that the board names is at its cap), or for the board "breaker_open" or the Errc that the
  // controller failed with.
  std::string_view reason;
  bool without_controller = false;  // it should have answered, and did not or was not asked
  std::string failure;     // why the controller did not answer, for the log; empty when it did or was not asked
  std::size_t capped = 0;  // candidates that the board gives 0 for their start cap alone
};

// One point is the least that kube-scheduler can add: 10 times the extender's weight.
inline constexpr std::int64_t kBoundedScore = 1;
// The best of them gets the limit, all others 0.
void bound_to(std::int64_t limit, std::vector<std::int64_t>& scores);

// Whether the controller let somebody wait: an answer that makes no sense came in time all the same.
void note(Breaker& breaker, const Error* error);

using Asker = std::function<Result<wire::Suggestion>(wire::Ask, std::chrono::milliseconds deadline)>;

class Prioritizer {
 public:
  // Board, breaker and clock must outlive it.
  Prioritizer(Asker asker, BoardKeeper& board, Breaker& breaker, const Clock& clock, std::chrono::milliseconds deadline,
              bool bound_scores = true)
      : asker_(std::move(asker)),
        board_(board),
        breaker_(breaker),
        clock_(clock),
        deadline_(deadline),
        bound_scores_(bound_scores) {}
  Scores scores(const wire::Ask& ask);

 private:
  Result<wire::Suggestion> ask_controller(const wire::Ask& ask) const;
  Asker asker_;
  BoardKeeper& board_;
  Breaker& breaker_;
  const Clock& clock_;
  const std::chrono::milliseconds deadline_;
  const bool bound_scores_;
  RecentAnswers recent_;
};

}  // namespace wattle::shim
