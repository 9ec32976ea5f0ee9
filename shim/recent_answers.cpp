#include "shim/recent_answers.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace wattle::shim {
namespace {

constexpr char kBetween = '\0';  // no name of a node has it

// One text in place of one per name: allocating a thousand names would cost a tenth of an answer.
std::string joined(const std::vector<std::string>& names) {
  std::size_t size = 0;
  for (const std::string& name : names) size += name.size() + 1;
  std::string all;
  all.reserve(size);
  for (const std::string& name : names) (all += name) += kBetween;
  return all;
}

std::vector<std::string_view> split(std::string_view all) {
  std::vector<std::string_view> names;
  for (std::size_t end = 0; (end = all.find(kBetween)) != all.npos; all.remove_prefix(end + 1))
    names.push_back(all.substr(0, end));
  return names;
}

// Reorders the scores for `wanted`; no value if the sets of nodes differ. The first of duplicate candidates counts.
std::optional<std::vector<std::int64_t>> in_order_of(const std::vector<std::string>& wanted,
                                                     const std::vector<std::string_view>& candidates,
                                                     const std::vector<std::int64_t>& scores) {
  std::unordered_map<std::string_view, std::int64_t> score_of;
  for (std::size_t i = 0; i < candidates.size(); ++i) score_of.emplace(candidates[i], scores[i]);
  std::vector<std::int64_t> out;
  out.reserve(wanted.size());
  std::unordered_set<std::string_view> seen;
  for (const std::string& node : wanted) {
    const auto score = score_of.find(node);
    if (score == score_of.end()) return std::nullopt;
    out.push_back(score->second);
    seen.insert(node);
  }
  if (seen.size() != score_of.size()) return std::nullopt;
  return out;
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
  const bool same = found->scores.size() == ask.candidates.size() && found->candidates == joined(ask.candidates);
  if (same) return found->scores;
  return in_order_of(ask.candidates, split(found->candidates), found->scores);
}

void RecentAnswers::keep(const wire::Ask& ask, const std::vector<std::int64_t>& scores, MonoTime now) {
  if (ask.pod_uid.empty()) return;
  Answer answer{ask.pod_uid, joined(ask.candidates), scores, now + kAnswerLife};
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  forget_old(now);
}

}  // namespace wattle::shim
