#include "controller/decisions/network_monitors.hpp"

#include <algorithm>

#include "controller/trainer/model_orders.hpp"

namespace wattle::controller {

NetworkMonitors::NetworkMonitors(placement::DecisionEngine& engine, const Clock& clock)
    : engine_(engine), clock_(clock) {
  engine_.gates().on_verdict([this](const placement::GateNews& news) {
    if (report_)
      report_({news.of_learned ? Monitor::learned_gate : Monitor::network_gate,
               news.gated ? Verdict::behind : Verdict::ahead, news.why});
  });
}

void NetworkMonitors::changed(bool of_another_ranking) {
  waiting_.reset();
  if (!of_another_ranking) return;
  network_.reset();
  gate_restored_ = false;
}

void NetworkMonitors::offer(const placement::PodSpec& spec, const std::vector<std::string>& candidates) {
  if (!waiting_) waiting_ = Made{spec, candidates};
}

void NetworkMonitors::judged(const std::string& node, double reward, const std::optional<double>& expected) {
  if (expected) prediction_error_.add(node, reward - *expected);
}

bool NetworkMonitors::look_at(const ServingModel::Serving& serving) {
  if (!engine_.network_gate_applies()) return false;
  const bool was_gated = engine_.gated();
  const ModelVersion& version = serving.trusted != nullptr ? serving.trusted_version : serving.version;
  const std::string& from = version.loaded_from;
  // A number is the checkpoint of its own that the restart went on from; what is loaded has a name.
  const bool goes_on = std::exchange(gate_restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (!from.empty() && from != network_ && !goes_on) {
    // The evidence about a network that is promoted while it serves stays.
    if (network_)
      for (const placement::Candidate each : {placement::Candidate::baseline, placement::Candidate::learned})
        engine_.trials().forget(each);
    if (network_ && engine_.gates().network_test().blocks() > 0 && serving.trusted != nullptr && from == kPromotedModel)
      engine_.gates().reset_learned();
    else
      engine_.gates().reset("network " + from + " was loaded", version.certificate);
  }
  network_ = from;
  return engine_.gated() != was_gated;
}

bool NetworkMonitors::compare(ClusterState& state, const ServingModel::Serving& serving,
                              const models::QNetwork* network) {
  const MonoTime begun = clock_.mono();
  const Made made = std::move(*waiting_);
  waiting_.reset();
  const placement::ClusterView& view = state.view(made.spec, begun);
  bool changed = false;
  if (network != nullptr && engine_.network_gate_applies(made.spec)) {
    const bool trusted = serving.trusted != nullptr;
    if (trusted && serving.network != nullptr && serving.version.sha256 != serving.trusted_version.sha256)
      changed = engine_.compare_learned(view, made.spec, made.candidates, *serving.network, *serving.trusted);
    const bool learned = trusted && network != serving.trusted.get();
    changed = engine_.compare(view, made.spec, made.candidates, *network, learned) || changed;
  }
  const MonoTime done = clock_.mono();
  after_ = done + kPartOfTime * (done - begun);
  return changed;
}

NetworkGateState::Recent NetworkMonitors::kept(const placement::RecentBlocks& recent, bool of_learned) const {
  if (!recent.at()) return {};
  const std::int64_t at_ns = to_ns(clock_.wall() - (clock_.mono() - *recent.at()));
  return {recent.blocks(), recent.mean(), static_cast<std::uint64_t>(std::max<std::int64_t>(at_ns, 0)), of_learned};
}

placement::RecentBlocks NetworkMonitors::recalled(const NetworkGateState::Recent& kept) const {
  placement::RecentBlocks recent;
  const Duration ago =
      std::max(clock_.wall() - wall_from_ns(static_cast<std::int64_t>(kept.wall_ns)), Duration::zero());
  recent.restore(kept.mean, kept.blocks, clock_.mono() - ago);
  return recent;
}

// The saving of advice that is followed and of advice that is not are figures of their own.
std::string NetworkMonitors::saving_of(const std::string& ranking) const {
  return engine_.shadow().shadow() ? ranking : ranking + " acting";
}

std::vector<MonitorState> NetworkMonitors::rows(const std::string& of) const {
  const placement::NetworkGates& gates = engine_.gates();
  const std::string network = network_.value_or("");
  std::vector<MonitorState> rows{
      {std::string(kNetworkGateRow), network_gate_text({of, network, gates.why(), gates.network_test().saved(),
                                                        kept(gates.recent(), gates.recent_is_of_learned())})},
      {std::string(kLearnedGateRow),
       network_gate_text({of, network, {}, gates.learned_test().saved(), kept(gates.recent_learned(), true)})},
      {std::string(kCandidatesRow), candidates_text({of, engine_.trials().saved()})}};
  if (const placement::ModelledSaving* saving = engine_.shadow().saving())
    rows.push_back({std::string(kSavingRow), saving_text({saving_of(of), saving->state()})});
  return rows;
}

Result<bool> NetworkMonitors::restore(const MonitorState& row, const std::string& of) {
  if (row.name == kSavingRow) {
    WATTLE_TRY(const auto kept, parse_saving(row.text));
    if (kept.of == saving_of(of)) engine_.shadow().restore_saving(kept.state);
  } else if (row.name == kNetworkGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(row.text));
    if (kept.of != of || !engine_.gates().restore(kept.state, kept.why)) return false;
    engine_.gates().restore_recent(recalled(kept.recent), kept.recent.of_learned);
    network_ = kept.network.empty() ? std::nullopt : std::optional(kept.network);
    gate_restored_ = true;
    return true;
  } else if (row.name == kLearnedGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(row.text));
    if (kept.of == of && engine_.gates().restore_learned(kept.state))
      engine_.gates().restore_recent_learned(recalled(kept.recent));
  } else if (row.name == kCandidatesRow) {
    WATTLE_TRY(const auto kept, parse_candidates(row.text));
    if (kept.of == of) engine_.trials().restore(kept.state);
  }
  return false;
}

}  // namespace wattle::controller
