// repeats: answers of late, so that the same pod with the same candidates is told the same again: a scheduler asks anew after a timeout.
// Bounds   kMaxCandidates of all answers together; the oldest go first, and who asks for them again is a new attempt
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
  static constexpr std::size_t kMaxCandidates = 200'000;  // some 20 MB

  // The answer of the last `within`, in the order in which the candidates are named now.
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
      in_order_;  // of keep(); of a pod that is kept anew the newest counts
  std::uint64_t kept_ = 0;
  std::size_t candidates_ = 0;  // in answers_
};

}  // namespace wattle::controller
