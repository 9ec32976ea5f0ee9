// Outcomes of placements: records of the node fill a window until it is an outcome.
#include <algorithm>
#include <numeric>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {
namespace {

wire::Outcome told(const SettleWindow& window, const placement::Reward& reward, const placement::RawOutcome& raw) {
  wire::Outcome outcome{window.node(), reward.value, reward.end_of_episode, reward.terms,
                        std::string(window.failure())};
  const auto tell = [&](const char* name, std::optional<double> value) {
    if (value) outcome.terms[name] = *value;
  };
  tell("marginal_w", raw.marginal_w);
  tell("expected_marginal_w", raw.expected_marginal_w);
  tell("mean_power_w", raw.mean_power_w);
  tell("latency_ms", raw.latency_ms);
  tell("cpu_some_ratio", raw.cpu_some_ratio);
  return outcome;
}

// Reward predicted for the node at the decision; no value if there was none.
std::optional<double> expected_of(const LoggedDecision& made, const std::string& node) {
  if (made.expected) return made.expected;
  const auto& candidates = made.decision.candidates;
  for (std::size_t i = 0; i < std::min(candidates.size(), made.predicted.size()); ++i)
    if (candidates[i].node == node && candidates[i].masked.empty()) return static_cast<double>(made.predicted[i]);
  return std::nullopt;
}

}  // namespace

std::optional<double> DeciderFigures::mean_reward() const {
  if (rewards.empty()) return std::nullopt;
  return std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
}

void DeciderFigures::rewarded(double reward) {
  constexpr std::size_t kKept = 100;
  rewards.push_back(reward);
  if (rewards.size() > kKept) rewards.pop_front();
}

std::uint64_t DeciderFigures::by(std::string_view decider) const {
  const auto found = decided_by.find(decider);
  return found == decided_by.end() ? 0 : found->second;
}

void Decider::record(const std::string& node, const Record& record, const RecordNews& news) {
  const Node* known = state_.node(node);
  // When all parts of an interval are in, its workloads are complete; those at rest used nothing.
  const bool shown = news.turn != Turn::late;
  if (shown && known != nullptr && known->parts_seen == record.parts && record.interval_ns > 0) {
    const double interval_s = static_cast<double>(record.interval_ns) * 1e-9;
    std::vector<placement::PodReading> readings;
    for (const std::string& uid : known->pods) {
      const auto workload = known->workloads.find(uid);
      if (workload == known->workloads.end() || !workload->second.cpu_cores) continue;
      const double cores = workload->second.whole_cores();
      readings.push_back({engine_.cluster_model().pod(uid), cores,
                          placement::stalled_ratio(workload->second.values, cores, interval_s)});
    }
    engine_.on_usage(readings, interval_s);
  }
  const MonoTime now = clock_.mono();
  settle(windows_.add(node, record, news.at, news.turn == Turn::ahead, now));
}

void Decider::settle(const std::vector<SettleWindow>& windows) {
  for (const SettleWindow& window : windows) {
    if (auto raw = window.finish(state_.raw_view())) {
      settled(window, std::move(*raw));
    } else {
      ++figures_.outcomes_lost;
      learn_(LostNews{window.decision_id()});
    }
  }
}

void Decider::settled(const SettleWindow& window, placement::RawOutcome raw) {
  const placement::Reward reward = placement::evaluate(engine_.options().reward, raw);
  ++figures_.outcomes;
  if (raw.failed) ++figures_.outcomes_failed[std::string(window.failure())];
  figures_.rewarded(reward.value);
  if (LoggedDecision* entry = log_.find(window.decision_id())) {
    entry->decision.outcome = told(window, reward, raw);
    entry->judged_by = reward_id(engine_.options().reward);
    entry->reward_preset = placement::to_string(engine_.options().reward.preset);
    changed_.insert(window.decision_id());
  }
  const LoggedDecision* made = log_.find(window.decision_id());
  monitors_.judged(window.node(), reward.value, made != nullptr ? expected_of(*made, window.node()) : std::nullopt);
  // The guard judges advice, not exploration.
  const bool explored = made != nullptr && made->decision.explored && window.arm() && acts(window.arm()->arm);
  if (judged_ && window.arm() && !explored) judged_(*window.arm(), reward.value);
  learn_(SettledNews{window.decision_id(), std::move(raw)});
}

}  // namespace wattle::controller
