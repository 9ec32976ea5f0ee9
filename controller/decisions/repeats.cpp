#include "controller/decisions/repeats.hpp"

#include <algorithm>
#include <string_view>

namespace wattle::controller {

std::optional<wire::Suggestion> Repeats::find(const wire::Ask& ask, Duration within, MonoTime now) const {
  const auto found = answers_.find(ask.pod_uid);
  if (ask.pod_uid.empty() || found == answers_.end()) return std::nullopt;
  const Answer& last = found->second;
  if (last.suggestion.again_ms > 0) {  // deferred: repeat until the retry time, if this ask permits it
    if (!(ask.defer_ms > 0)) return std::nullopt;
    within = std::min(within, from_seconds(last.suggestion.again_ms / 1e3) - Duration(1));
  }
  // this ask permits waiting, the last one did not
  if (last.suggestion.neutral && last.suggestion.again_ms == 0 && ask.defer_ms > 0) return std::nullopt;
  if (now - last.at > within || last.candidates.size() != ask.candidates.size()) return std::nullopt;
  wire::Suggestion answer = last.suggestion;
  if (last.candidates == ask.candidates) return answer;
  std::unordered_map<std::string_view, std::int64_t> score_of;  // the candidates are in another order
  for (std::size_t i = 0; i < last.candidates.size(); ++i)
    score_of.emplace(last.candidates[i], last.suggestion.scores[i]);
  for (std::size_t i = 0; i < ask.candidates.size(); ++i) {
    const auto score = score_of.find(ask.candidates[i]);
    if (score == score_of.end()) return std::nullopt;
    answer.scores[i] = score->second;
  }
  return answer;
}

void Repeats::keep(const std::string& pod_uid, std::vector<std::string> candidates, const wire::Suggestion& suggestion,
                   MonoTime now) {
  forget(pod_uid);
  candidates_ += candidates.size();
  answers_.emplace(pod_uid, Answer{++kept_, now, std::move(candidates), suggestion});
  in_order_.emplace_back(kept_, pod_uid);
  while (candidates_ > kMaxCandidates && answers_.size() > 1) drop_oldest();
}

void Repeats::forget(const std::string& pod_uid) {
  const auto found = answers_.find(pod_uid);
  if (found == answers_.end()) return;
  candidates_ -= found->second.candidates.size();
  answers_.erase(found);
}

void Repeats::clear() {
  answers_.clear();
  in_order_.clear();
  candidates_ = 0;
}

void Repeats::expire(Duration within, MonoTime now) {
  while (!in_order_.empty()) {
    const auto found = answers_.find(in_order_.front().second);
    const bool counts = found != answers_.end() && found->second.number == in_order_.front().first;
    if (counts && now - found->second.at <= within) return;
    drop_oldest();
  }
}

void Repeats::drop_oldest() {
  const auto found = answers_.find(in_order_.front().second);
  if (found != answers_.end() && found->second.number == in_order_.front().first) {
    candidates_ -= found->second.candidates.size();
    answers_.erase(found);
  }
  in_order_.pop_front();
}

}  // namespace wattle::controller
