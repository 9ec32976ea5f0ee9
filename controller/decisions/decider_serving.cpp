// Which network serves, and why; and what the decider knows over a restart.
#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "common/json/value.hpp"
#include "controller/decisions/decider.hpp"

namespace wattle::controller {

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod != nullptr && left_) left_(pod->spec);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.on_pod_ended(pod_uid, pod != nullptr ? &pod->spec : nullptr,
                       node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

std::vector<MonitorState> Decider::monitors() const { return monitors_.rows(ranking_of(spec_)); }

Status Decider::restore(const MonitorState& state) {
  WATTLE_TRY(const bool verdict_changed, monitors_.restore(state, ranking_of(spec_)));
  if (verdict_changed) repeats_.clear();
  return {};
}

void Decider::recall(LoggedDecision entry) {
  const wire::Decision& decision = entry.decision;
  const bool shadow = decision.mode == "shadow" || decision.mode == "observed";
  if (engine_.shadow().saving() != nullptr && shadow && decision.policy == spec_.policy && !decision.advice.empty())
    recalled_[decision.pod_uid] = decision.advice;
  if (decision.defer_until_ns > 0) {
    const Duration left = Duration(decision.defer_until_ns) - clock_.wall().time_since_epoch();
    deferrals_.recall(decision.pod_uid, clock_.mono() + std::clamp(left, -Deferrals::kRemember, Deferrals::kLongest));
  }
  if (decision.outcome && entry.judged_by == reward_id(spec_.reward)) figures_.rewarded(decision.outcome->reward);
  recalled_pods_.add(entry);
  log_.add(std::move(entry));
}

bool Decider::recall_pod(const std::string& pod_uid, const std::string& node) {
  if (state_.pod(pod_uid) != nullptr) return false;
  const auto found = recalled_pods_.take(pod_uid, node);
  if (!found) return false;
  state_.recall(engine_.expected(found->spec), found->decision_id);
  state_.name_containers(pod_uid, found->container_ids);
  return true;
}

void Decider::follow_recalled(MonoTime now) {
  std::erase_if(recalled_, [&](const auto& each) {
    const auto& [uid, advice] = each;
    const Pod* pod = state_.pod(uid);
    const Node* advised = state_.node(advice);
    if (pod == nullptr || pod->node.empty() || advised == nullptr) return false;
    engine_.reserve_again(pod->spec, {advised->row, advice}, {state_.node(pod->node)->row, pod->node}, now);
    return true;
  });
}

Decider::Heard Decider::heard() const {
  ServingModel::Serving serving = networks_.serving();
  const bool learned = fits(serving.network, serving.version);
  if (fits(serving.trusted, serving.trusted_version) && (engine_.learned_gated() || !learned))
    return {std::move(serving.trusted), std::move(serving.trusted_version), false};
  if (!learned) return {};
  return {std::move(serving.network), std::move(serving.version), true};
}

Decider::NetworkStates Decider::network_states() const {
  const ServingModel::Serving serving = networks_.serving();
  const bool held = fits(serving.trusted, serving.trusted_version);
  const bool learns =
      fits(serving.network, serving.version) && !(held && serving.version.sha256 == serving.trusted_version.sha256);
  const bool applies = engine_.network_gate_applies(), by_learned = learns && (!held || !engine_.learned_gated());
  const auto of_server = applies ? engine_.gates().network_test().state() : stats::NetworkState::in_use;
  NetworkStates states;
  if (held) states.baseline = by_learned ? stats::NetworkState::candidate : of_server;
  if (learns) states.learned = by_learned ? of_server : engine_.gates().learned_test().state();
  return states;
}

std::vector<Contender> Decider::contenders() const {
  const Heard heard = this->heard();
  if (heard.network == nullptr || !engine_.policy().learns) return {};
  const ServingModel::Serving serving = networks_.serving();
  const bool held = fits(serving.trusted, serving.trusted_version);
  const bool learns =
      fits(serving.network, serving.version) && !(held && serving.version.sha256 == serving.trusted_version.sha256);
  const auto name_of = [](bool learned, const ModelVersion& version) {
    return learned || version.loaded_from.empty() ? std::string("the network learned on this cluster")
                                                  : "the network " + version.loaded_from;
  };
  const auto compared = [this](Contender& one, const char* with, const placement::RecentBlocks& recent) {
    if (recent.at())
      one.compared.push_back({with, recent.mean(), recent.blocks(), seconds(clock_.mono() - *recent.at())});
  };
  const bool applies = engine_.network_gate_applies(), gated = network_gated();

  const NetworkStates states = network_states();
  const auto in_charge = heard.learned && learns ? states.learned : states.baseline;
  Contender network{name_of(heard.learned, heard.version), !gated, {}, heard.version.certificate, {}, in_charge};
  if (applies && !gated) network.why = "the plan replaces it if its choices cost more than the plan's";
  if (applies && engine_.gates().recent_is_of_learned() == (heard.learned && held))
    compared(network, "the plan", engine_.gates().recent());
  if (heard.learned && held && learns) compared(network, "the initial network", engine_.gates().recent_learned());

  std::vector<Contender> all;
  if (applies) {
    Contender plan{"the plan", gated, {}, {}, {}};
    if (gated) {
      static constexpr std::string_view kOfDecision = "the plan's choice: ";  // as a decision's reason begins
      std::string_view why = network_gated_why();
      if (why.starts_with(kOfDecision)) why.remove_prefix(kOfDecision.size());
      // A verdict may be about the network that was asked before: it is named, as its figures are in the text.
      static constexpr std::string_view kWithdrawn = "the network is withdrawn";
      plan.why = held && why.starts_with(kWithdrawn)
                     ? name_of(false, serving.trusted_version) + std::string(why.substr(kWithdrawn.find(" is ")))
                     : std::string(why);
    }
    all.push_back(std::move(plan));
  }
  all.insert(gated ? all.end() : all.begin(), std::move(network));
  if (applies && held && learns) {
    const bool other_learned = !heard.learned;
    Contender other{name_of(other_learned, serving.trusted_version),
                    false,
                    {},
                    other_learned ? std::string() : serving.trusted_version.certificate,
                    {},
                    other_learned ? states.learned : states.baseline};
    if (other_learned) {
      other.why = "it replaces the initial network once its choices cost less";
      compared(other, "the initial network", engine_.gates().recent_learned());
    }
    all.push_back(std::move(other));
  }
  return all;
}

// Zero for a gated network, and for the initial one, which was judged elsewhere.
double Decider::epsilon() const {
  const Heard heard = this->heard();
  const bool began_with = heard.network != nullptr && !heard.learned;
  return network_gated() || began_with ? 0 : engine_.options().epsilon;
}

}  // namespace wattle::controller
