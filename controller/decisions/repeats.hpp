// repeats: keeps recent answers, so that a scheduler that repeats an ask after a timeout gets the same answer.
// Bounds   kMaxCandidates over all answers; the oldest are dropped first, and a repeat of a dropped ask is a new
//          attempt
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/wire/messages.hpp"

namespace wattle::controller {

class Repeats {
 public:
  static constexpr std::size_t kMaxCandidates = 200'000;  // about 20 MB

  // Returns the answer of the last `within`, in the order of the ask's candidates.
  std::optional<wire::Suggestion> find(const wire::Ask& ask, Duration within, MonoTime now) const;
  void keep(const std::string& pod_uid, std::vector<std::string> candidates, const wire::Suggestion& suggestion,
            MonoTime now);
  void forget(const std::string& pod_uid);
  void clear();
  void expire(Duration within, MonoTime now);
  std::size_t candidates() const { return candidates_; }

 private:
  struct Answer {
    std::uint64_t number = 0;
    MonoTime at{};
    std::vector<std::string> candidates;
    wire::Suggestion suggestion;
  };
  void drop_oldest();

  std::unordered_map<std::string, Answer> answers_;  // by pod UID
  std::deque<std::pair<std::uint64_t, std::string>>
      in_order_;  // in order of keep(); for a pod that is kept again the newest entry counts
  std::uint64_t kept_ = 0;
  std::size_t candidates_ = 0;  // total number in answers_
};

}  // namespace wattle::controller
