#include "shim/recent_answers.hpp"

#include <algorithm>

namespace wattle::shim {
namespace {

const auto kByNode = [](const auto& a, const auto& b) { return a.first < b.first; };
const auto kSameNode = [](const auto& a, const auto& b) { return a.first == b.first; };

std::vector<std::string> sorted_once(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

void RecentAnswers::forget_old(MonoTime now) {
  while (!answers_.empty() && (answers_.front().until <= now || answers_.size() > kAnswersKept)) answers_.pop_front();
}

std::optional<std::vector<std::int64_t>> RecentAnswers::find(const wire::Ask& ask, MonoTime now) {
  if (ask.pod_uid.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  forget_old(now);
  const auto found =
      std::find_if(answers_.rbegin(), answers_.rend(), [&](const Answer& a) { return a.pod_uid == ask.pod_uid; });
  if (found == answers_.rend()) return std::nullopt;
  const auto names = sorted_once(ask.candidates);
  const bool same = std::equal(names.begin(), names.end(), found->scores.begin(), found->scores.end(),
                               [](const std::string& name, const auto& scored) { return name == scored.first; });
  if (!same) return std::nullopt;
  std::vector<std::int64_t> scores;
  scores.reserve(ask.candidates.size());
  for (const auto& node : ask.candidates)
    scores.push_back(
        std::lower_bound(found->scores.begin(), found->scores.end(), std::pair(node, std::int64_t{0}), kByNode)
            ->second);
  return scores;
}

void RecentAnswers::keep(const wire::Ask& ask, const std::vector<std::int64_t>& scores, MonoTime now) {
  if (ask.pod_uid.empty()) return;
  Answer answer{ask.pod_uid, {}, now + kAnswerLife};
  for (std::size_t i = 0; i < ask.candidates.size(); ++i) answer.scores.emplace_back(ask.candidates[i], scores[i]);
  std::stable_sort(answer.scores.begin(), answer.scores.end(), kByNode);
  answer.scores.erase(std::unique(answer.scores.begin(), answer.scores.end(), kSameNode), answer.scores.end());
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  forget_old(now);
}

}  // namespace wattle::shim
