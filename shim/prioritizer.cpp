#include "shim/prioritizer.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace wattle::shim {
namespace {

// Detects duplicates without sorting; kube-scheduler names each node only once.
bool all_differ(const std::vector<std::string>& names) {
  std::vector<const std::string*> slots(std::bit_ceil(2 * names.size() + 1));
  const std::size_t mask = slots.size() - 1;
  for (const std::string& name : names) {
    std::size_t at = std::hash<std::string>()(name) & mask;
    for (; slots[at] != nullptr; at = (at + 1) & mask)
      if (*slots[at] == name) return false;
    slots[at] = &name;
  }
  return true;
}

}  // namespace

std::string_view to_string(Source source) {
  constexpr std::string_view kNames[] = {"controller", "repeated", "board", "neutral"};
  return kNames[static_cast<std::size_t>(source)];
}

void bound_to(std::int64_t limit, std::vector<std::int64_t>& scores) {
  const auto best = std::max_element(scores.begin(), scores.end());
  if (best == scores.end() || *best == 0) return;
  const auto at = best - scores.begin();
  const std::int64_t most = std::min(limit, *best);
  std::fill(scores.begin(), scores.end(), 0);
  scores[static_cast<std::size_t>(at)] = most;
}

void note(Breaker& breaker, const Error* error) {
  if (error == nullptr || error->code == Errc::malformed)
    breaker.answered();
  else
    breaker.missed();
}

// Asks with candidates that all differ, and returns one valid score per candidate.
Result<wire::Suggestion> Prioritizer::ask_once(wire::Ask& ask) const {
  const bool bounded = bound_scores_ && !ask.prefers.empty();
  const std::int64_t limit = ask.score_limit;
  ask.deadline_ms = static_cast<double>(deadline_.count());
  if (bounded) ask.score_limit = kBoundedScore;
  auto answer = asker_(ask, deadline_);
  ask.score_limit = limit;
  WATTLE_TRY(wire::Suggestion suggestion, std::move(answer));
  if (suggestion.neutral) {
    suggestion.scores.assign(ask.candidates.size(), 0);
    return suggestion;
  }
  const bool valid = suggestion.scores.size() == ask.candidates.size() &&
                     std::all_of(suggestion.scores.begin(), suggestion.scores.end(),
                                 [](std::int64_t score) { return score >= 0 && score <= 10; });
  if (!valid) return fail(Errc::malformed, "suggestion.scores", "are not one integer from 0 to 10 per candidate");
  if (bounded) bound_to(kBoundedScore, suggestion.scores);  // an older controller ignores the limit
  return suggestion;
}

// Asks with each candidate once, and returns one valid score per candidate of `ask`.
Result<wire::Suggestion> Prioritizer::ask_controller(wire::Ask& ask) const {
  if (all_differ(ask.candidates)) return ask_once(ask);
  wire::Ask once = ask;
  std::unordered_map<std::string_view, std::size_t> place;
  once.candidates.clear();
  for (const auto& node : ask.candidates)
    if (place.emplace(node, once.candidates.size()).second) once.candidates.push_back(node);
  WATTLE_TRY(wire::Suggestion suggestion, ask_once(once));
  std::vector<std::int64_t> scores;
  scores.reserve(ask.candidates.size());
  for (const auto& node : ask.candidates) scores.push_back(suggestion.scores[place.at(node)]);
  suggestion.scores = std::move(scores);
  return suggestion;
}

Scores Prioritizer::scores(wire::Ask& ask) {
  const auto neutral = [&](std::string_view reason) {
    return Scores{std::vector<std::int64_t>(ask.candidates.size(), 0), Source::neutral, reason, false, {}};
  };
  if (ask.candidates.empty()) return neutral("no_candidates");
  if (!ask.node_name.empty()) return neutral("already_bound");
  if (auto again = recent_.find(ask, clock_.mono())) {
    // Does not repeat advice after the controller has changed to off or shadow.
    const bool advises = std::any_of(again->begin(), again->end(), [](std::int64_t score) { return score != 0; });
    if (!advises || board_.state(clock_.mono()) != BoardState::neutral)
      return {std::move(*again), Source::repeated, "scored", false, {}};
  }

  const auto without_controller = [&](std::string_view why, std::string failure, MonoTime now) {
    if (auto standing = board_.take(ask, now)) {
      const bool none_left = standing->all_capped();
      if (!ask.owner.empty() || !ask.prefers.empty()) bound_to(kBoundedScore, standing->scores);
      return Scores{std::move(standing->scores), none_left ? Source::neutral : Source::board,
                    none_left ? "start_cap" : why, true, std::move(failure)};
    }
    Scores none = neutral(to_string(board_.state(now)));
    none.without_controller = true;
    none.failure = std::move(failure);
    return none;
  };
  if (!breaker_.may_ask()) return without_controller("breaker_open", {}, clock_.mono());
  auto suggestion = ask_controller(ask);
  note(breaker_, suggestion ? nullptr : &suggestion.error());
  const MonoTime now = clock_.mono();
  if (suggestion) {
    if (suggestion->neutral && (suggestion->mode == "off" || suggestion->mode == "shadow")) board_.stop();
    recent_.keep(ask, suggestion->scores, now);
    const auto top = std::max_element(suggestion->scores.begin(), suggestion->scores.end());
    if (top != suggestion->scores.end() && *top > 0)
      board_.given(ask.pod_uid, ask.candidates[static_cast<std::size_t>(top - suggestion->scores.begin())],
                   suggestion->decision_id, now);
    return {std::move(suggestion->scores), Source::controller, suggestion->neutral ? "neutral" : "scored", false, {}};
  }
  return without_controller(to_string(suggestion.error().code), suggestion.error().message(), now);
}

}  // namespace wattle::shim
