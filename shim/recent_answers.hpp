// recent_answers: keeps the controller's answers of the last two seconds, so that a retry with the same pod and
// candidates gets the same answer. Bounded; drops the oldest first.
// Threads  any
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

inline constexpr Duration kAnswerLife = std::chrono::seconds(2);
inline constexpr std::size_t kAnswersKept = 256;

class RecentAnswers {
 public:
  // No value for a pod without a UID, for other candidates (their order does not matter), and after kAnswerLife.
  std::optional<std::vector<std::int64_t>> find(const wire::Ask& ask, MonoTime now);
  // Stores one score per candidate of the ask.
  void keep(const wire::Ask& ask, const std::vector<std::int64_t>& scores, MonoTime now);

 private:
  struct Answer {
    std::string pod_uid;
    std::string candidates;            // joined, in the order of the ask, which a retry most likely repeats
    std::vector<std::int64_t> scores;  // a score per candidate
    MonoTime until{};
  };
  void forget_old(MonoTime now);
  std::mutex mutex_;  // guards the answers
  std::deque<Answer> answers_;
};

}  // namespace wattle::shim
