#include "controller/guardrails.hpp"

#include <string_view>
#include <vector>

#include "controller/decisions/decider.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/learning.hpp"

namespace wattle::controller {

bool Guardrails::decided(const ArmNow& arm, double max_abs_residual) {
  const bool may_act = parts_.rollout.decided(arm, max_abs_residual);
  drain();
  return may_act;
}

Result<std::string> Guardrails::order(const std::string& what, const std::map<std::string, std::string>& arguments,
                                      const std::string& who) {
  auto done = parts_.rollout.handle(what, arguments, who);
  drain();
  return done;
}

void Guardrails::watch() {
  ClusterNow now;
  for (const auto& [name, node] : parts_.state.nodes()) {
    ++now.nodes;
    const placement::NodeView& view = parts_.state.view_of(node);
    now.requested_cores += view.requested.cpu_cores;
    if (!view.power_w || (!node.connected && !view.asleep)) continue;
    ++now.watched;
    now.power_w += *view.power_w;
  }
  now.compared = parts_.decider.engine().shadow().compared();
  const placement::PodTime& pod_time = parts_.decider.engine().cluster_model().pod_time();
  parts_.rollout.watch(now, {budget_now(pod_time.cpu_wait()), budget_now(pod_time.late())});
  drain();
}

void Guardrails::drain() {
  for (const Judged& each : parts_.decider.outcomes().take_judged()) parts_.rollout.judged(each.arm, each.reward);
  for (const RolloutEvent event : parts_.rollout.take_events()) apply(event);
}

void Guardrails::apply(RolloutEvent event) {
  Decider& decider = parts_.decider;
  if (event == RolloutEvent::spec_changed) {
    const RolloutSpec& spec = parts_.rollout.spec();
    const bool reward_changed = !(spec.reward == decider.spec().reward);
    decider.take(spec);
    if (reward_changed) parts_.learning.post(RewardNews{spec.reward});
    return keep_monitors();  // a row of another experiment does not apply
  }
  if (event == RolloutEvent::network_withdrawn) return models_.bring_back();
  const NetworkChoice::InUse in_use = decider.networks().in_use();
  models_.keep_promoted(in_use.network != nullptr && !in_use.learned);
}

void Guardrails::keep_monitors() { parts_.rollout.keep(parts_.decider.monitor_states()); }

void Guardrails::restore_monitors() {
  std::vector<Error> unreadable;
  for (const std::string_view name : {kSavingRow, kCandidatesRow}) {
    const std::string* text = parts_.rollout.kept(name);
    if (text == nullptr) continue;
    if (const Status restored = parts_.decider.restore({std::string(name), *text}); !restored)
      unreadable.push_back(restored.error());
  }
  // Runs last, so that its changes are saved together with the other parts' state.
  for (const Error& error : unreadable) parts_.rollout.unreadable(error);
  drain();
}

}  // namespace wattle::controller
