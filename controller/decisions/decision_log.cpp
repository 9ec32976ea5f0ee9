#include "controller/decisions/decision_log.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::controller {
namespace {

NodeFeatures row_of(const models::Observation& observation, std::size_t row) {
  NodeFeatures features{};
  std::copy_n(observation.node.begin() + static_cast<std::ptrdiff_t>(row * models::kNodeFeatures),
              models::kNodeFeatures, features.begin());
  return features;
}

// `at` is an index into the record's candidates.
Contributions contributions(const placement::PlacementDecision& advice, const wire::Decision& decision,
                            std::size_t at) {
  const std::size_t row = advice.recorded[at];
  const placement::Prediction& predicted = advice.predictions[row];
  const wire::Candidate& entry = decision.candidates[at];
  // If there is a plan, its prior replaces the models' energy, so energy is the prior minus the latency part.
  return {entry.prior - predicted.priced_latency(), predicted.priced_latency(), entry.residual, advice.values[row],
          std::nullopt};
}

}  // namespace

LoggedDecision log_entry(const placement::PlacementDecision& advice, wire::Decision decision) {
  LoggedDecision entry;
  // Returns the candidate with the best value, except `except`.
  const auto best_but = [&](std::optional<std::size_t> except) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
      if (!decision.candidates[i].masked.empty() || i == except) continue;
      if (!found || advice.values[advice.recorded[i]] > advice.values[advice.recorded[*found]]) found = i;
    }
    return found;
  };
  std::optional<std::size_t> best;
  if (advice.top && !decision.explored) {  // a candidate drawn among equals is the best; an explored one is not
    const auto at = std::find(advice.recorded.begin(), advice.recorded.end(), advice.row_of[*advice.top]);
    best = static_cast<std::size_t>(at - advice.recorded.begin());
  } else if (advice.top) {  // otherwise all are masked or have the same value
    best = best_but({});
  }
  const std::optional<std::size_t> second = best ? best_but(best) : std::nullopt;
  if (best) {
    entry.winner = decision.candidates[*best].node;
    entry.features.emplace();
    entry.features->winner = row_of(advice.observation, advice.recorded[*best]);
    entry.winner_terms = contributions(advice, decision, *best);
    entry.features->pod = advice.observation.pod;
  }
  if (second) {
    entry.runner_up_terms = contributions(advice, decision, *second);
    entry.runner_up = decision.candidates[*second].node;
    entry.features->runner_up = row_of(advice.observation, advice.recorded[*second]);
  }
  entry.predicted.reserve(decision.candidates.size());
  for (std::size_t i = 0; i < decision.candidates.size(); ++i)
    entry.predicted.push_back(
        decision.candidates[i].masked.empty() ? static_cast<float>(advice.predictions[advice.recorded[i]].value()) : 0);
  entry.candidates = decision.candidates.size();
  entry.masked = static_cast<std::size_t>(
      std::count_if(decision.candidates.begin(), decision.candidates.end(),
                    [](const wire::Candidate& candidate) { return !candidate.masked.empty(); }));
  entry.decision = std::move(decision);
  return entry;
}

void DecisionLog::add(LoggedDecision entry) {
  candidates_ += entry.decision.candidates.size();
  entries_.push_back(std::move(entry));
  while (entries_.size() > capacity_ || (candidates_ > kMaxCandidates && entries_.size() > 1)) {
    candidates_ -= entries_.front().decision.candidates.size();
    entries_.pop_front();
  }
}

const LoggedDecision* DecisionLog::find(std::uint64_t id) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id,
                       [](const LoggedDecision& entry, std::uint64_t at) { return entry.decision.id < at; });
  return found == entries_.end() || found->decision.id != id ? nullptr : &*found;
}

LoggedDecision* DecisionLog::find(std::uint64_t id) {
  return const_cast<LoggedDecision*>(static_cast<const DecisionLog*>(this)->find(id));
}

const LoggedDecision* DecisionLog::newest(std::string_view pod) const {
  if (const auto id = parse::u64(pod)) {
    if (const LoggedDecision* entry = find(*id)) return entry;
  }
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const LoggedDecision& entry) {
    const wire::Decision& decision = entry.decision;
    return decision.pod_uid == pod || decision.pod_name == pod ||
           decision.pod_namespace + "/" + decision.pod_name == pod;
  });
  return found == entries_.rend() ? nullptr : &*found;
}

}  // namespace wattle::controller
