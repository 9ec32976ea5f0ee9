// Which network serves, and why; and what the decider knows over a restart.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include "common/json/value.hpp"
#include "controller/decisions/decider.hpp"

namespace wattle::controller {

namespace {
// "-0.3%", "+1.2%"
std::string signed_percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f%%", 100 * ratio);
  return text;
}
}  // namespace

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod != nullptr && left_) left_(pod->spec);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.left(pod_uid, pod != nullptr ? &pod->spec : nullptr,
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
  if (engine_.saving() != nullptr && shadow && decision.policy == spec_.policy && !decision.advice.empty())
    recalled_[decision.pod_uid] = decision.advice;
  if (decision.defer_until_ns > 0) {
    const Duration left = Duration(decision.defer_until_ns) - clock_.wall().time_since_epoch();
    deferrals_.recall(decision.pod_uid, clock_.mono() + std::clamp(left, -Deferrals::kRemember, Deferrals::kLongest));
  }
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

std::string Decider::serves() const {
  const Heard heard = this->heard();
  if (heard.network == nullptr || !engine_.policy().learns) return {};
  const bool known = !heard.learned && !heard.version.loaded_from.empty();
  const std::string name = known ? "the network " + heard.version.loaded_from : "the network that is learned here";
  if (network_gated()) {
    static constexpr std::string_view kOfDecision = "the plan's choice: ";  // as a decision's reason begins
    std::string_view why = network_gated_why();
    if (why.starts_with(kOfDecision)) why.remove_prefix(kOfDecision.size());
    return "the plan serves, not " + name + ": " + std::string(why) + ".";
  }
  const std::string& why = engine_.heard_why();
  std::string text = name + " serves" + (why.empty() ? "" : ": " + why) + ".";
  if (engine_.network_gate_applies())
    text += " It is left out once its choices cost more joules than the plan's on copies of this cluster.";
  if (engine_.learned_gated() && !heard.learned)
    text += " What is learned here takes its place once it costs less than it there" +
            (engine_.learned_network_gate().blocks() == 0
                 ? std::string(", of which nothing is known yet.")
                 : "; of late it cost " + signed_percent(engine_.learned_network_gate().mean()) + ".");
  return text;
}

// What learning began with has been judged elsewhere: it is not made to err for the sake of learning.
double Decider::epsilon() const {
  const Heard heard = this->heard();
  const bool began_with = heard.network != nullptr && !heard.learned;
  return network_gated() || began_with ? 0 : monitors_.epsilon(engine_.options().epsilon);
}

}  // namespace wattle::controller
