// recent_answers: the controller's answers of the last two seconds, so that a retry of the same pod over the same
// candidates gets the same answer. Bounded; the oldest goes first.
// Threads  any
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

inline constexpr Duration kAnswerLife = std::chrono::seconds(2);
inline constexpr std::size_t kAnswersKept = 256;

class RecentAnswers {
 public:
  // Nothing for a pod without a UID, for other candidates (their order does not matter), and after kAnswerLife.
  std::optional<std::vector<std::int64_t>> find(const wire::Ask& ask, MonoTime now);
  // One score per candidate of the ask.
  void keep(const wire::Ask& ask, const std::vector<std::int64_t>& scores, MonoTime now);

 private:
  struct Answer {
    std::string pod_uid;
    std::vector<std::string> candidates;  // as they were asked for: a retry most likely has them in the same order
    std::vector<std::int64_t> scores;     // of each
    MonoTime until{};
  };
  void forget_old(MonoTime now);
  std::mutex mutex_;  // guards the answers
  std::deque<Answer> answers_;
};

}  // namespace wattle::shim
