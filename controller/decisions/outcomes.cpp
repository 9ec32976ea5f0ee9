#include "controller/decisions/outcomes.hpp"

#include <algorithm>

#include "controller/decisions/settle.hpp"

namespace wattle::controller {
namespace {

wire::Outcome reported(const SettleWindow& window, const placement::Reward& reward, const placement::RawOutcome& raw) {
  wire::Outcome outcome{window.node(), reward.value, reward.end_of_episode, reward.terms,
                        std::string(window.failure())};
  const auto report = [&](const char* name, std::optional<double> value) {
    if (value) outcome.terms[name] = *value;
  };
  report("marginal_w", raw.marginal_w);
  report("expected_marginal_w", raw.expected_marginal_w);
  report("mean_power_w", raw.mean_power_w);
  report("latency_ms", raw.latency_ms);
  report("cpu_some_ratio", raw.cpu_some_ratio);
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

void Outcomes::open(std::uint64_t decision_id, const placement::PodSpec& spec, const std::string& node, std::size_t row,
                    placement::RawOutcome begun, const std::optional<ArmNow>& arm) {
  begun.placement = watched_++;
  const Duration window = settle_window(core_.config(), core_.engine().options().reward.preset);
  windows_.open({decision_id, spec, node, row, clock_.mono(), window, std::move(begun), arm});
}

void Outcomes::record(const std::string& node, const Record& record, const RecordNews& news) {
  const Node* known = state_.node(node);
  // Once all parts of an interval have arrived, its workloads are complete; those at rest used nothing.
  const bool shown = news.turn != Turn::late;
  if (shown && known != nullptr && known->parts_seen == record.parts && record.interval_ns > 0) {
    const double interval_s = static_cast<double>(record.interval_ns) * 1e-9;
    std::vector<placement::PodReading> readings;
    for (const std::string& uid : known->pods) {
      const auto workload = known->workloads.find(uid);
      if (workload == known->workloads.end() || !workload->second.cpu_cores) continue;
      const double cores = workload->second.whole_cores();
      readings.push_back({core_.engine().cluster_model().pods().find(uid), cores,
                          placement::stalled_ratio(workload->second.values, cores, interval_s)});
    }
    core_.engine().on_usage(readings, interval_s);
  }
  const MonoTime now = clock_.mono();
  settle(windows_.add(node, record, news.at, news.turn == Turn::ahead, now));
}

void Outcomes::settle(const std::vector<SettleWindow>& windows) {
  for (const SettleWindow& window : windows) {
    if (auto raw = window.finish(state_.raw_view()))
      settled(window, std::move(*raw));
    else
      core_.learn(LostNews{window.decision_id()});
  }
}

void Outcomes::settled(const SettleWindow& window, placement::RawOutcome raw) {
  const placement::Reward reward = placement::evaluate(core_.engine().options().reward, raw);
  ++core_.figures().outcomes;
  core_.figures().rewarded(reward.value);
  if (LoggedDecision* entry = core_.log().find(window.decision_id())) {
    entry->decision.outcome = reported(window, reward, raw);
    entry->judged_by = reward_id(core_.engine().options().reward);
    entry->reward_preset = placement::to_string(core_.engine().options().reward.preset);
    core_.log().changed(window.decision_id());
  }
  const LoggedDecision* made = core_.log().find(window.decision_id());
  core_.monitors().judged(window.node(), reward.value,
                          made != nullptr ? expected_of(*made, window.node()) : std::nullopt);
  // The guard judges advice, not exploration.
  const bool explored = made != nullptr && made->decision.explored && window.arm() && acts(window.arm()->arm);
  if (window.arm() && !explored) judged_.push_back({*window.arm(), reward.value});
  core_.learn(SettledNews{window.decision_id(), std::move(raw)});
}

}  // namespace wattle::controller
