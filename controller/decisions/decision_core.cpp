#include "controller/decisions/decision_core.hpp"

#include <cassert>

#include "common/json/value.hpp"

namespace wattle::controller {

namespace {

constexpr int kBlocksOfDay = 48;  // a day of the candidates' trials: 24 hours with the default canary.block

placement::Modelled modelled_in(Mode mode) {
  if (mode == Mode::off) return placement::Modelled::none;
  return mode == Mode::shadow ? placement::Modelled::advice : placement::Modelled::default_scheduler;
}

}  // namespace

DecisionCore::DecisionCore(const ControllerConfig& config, ClusterState& state, const ServingModel& networks,
                           const Clock& clock, std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
                           placement::ClusterModel cluster_model)
    : config_(config),
      state_(state),
      serving_(networks),
      clock_(clock),
      learn_(std::move(learn)),
      random_(static_cast<std::uint64_t>(config.seed)),
      engine_({config.decide,
               config.network,
               {.unseen = config.in_flight_expiry, .start_window = config.decide.mask.start_cap.window},
               config.modelled,
               {.on = config.measure_candidates,
                .length = config.blocks.length,
                .day = kBlocksOfDay * config.blocks.length,
                .seed = static_cast<std::uint64_t>(config.seed)}},
              std::move(cluster_model)),
      networks_(config, networks, engine_, spec_),
      monitors_(engine_),
      log_(static_cast<std::size_t>(config.decision_ring), first_decision_id) {
  take(configured_spec(config));
}

void DecisionCore::take(const RolloutSpec& spec) {
  if (!(engine_.options().reward == spec.reward)) {
    monitors_.reward_changes();
    figures_.rewards.clear();  // a mean over two rewards has no meaning
  }
  spec_ = spec;
  ++spec_changes_;
  engine_.cluster_model().pod_time().set_limits(spec.limits);
  const auto other = engine_.set_policy(spec.policy, spec.reward);
  assert(other);  // callers check the spec
  ++edition_;     // earlier answers are no longer valid
  if (*other) monitors_.ranking_changed();
  engine_.shadow().set_modelled(modelled_in(spec.mode.mode), *other);
  update_control_block();
  engine_.set_acting_for_trials(spec.mode.mode == Mode::live);
}

// Accumulates advice in a control block, as in shadow mode, so that the modelled saving covers what the canary
// measures.
void DecisionCore::update_control_block() {
  const bool control = arm().arm == Arm::control;
  engine_.shadow().set_control(control ? std::optional(block_at(spec_.schedule, clock_.wall()).number) : std::nullopt);
}

// In shadow mode, advice accumulates on a copy of the cluster. The pod is placed on the real cluster, so learning uses
// that one.
std::optional<OpenDecision> DecisionCore::decide_on_shadow(
    placement::PlacementDecision& advice, const placement::ClusterView& view, const placement::PodSpec& spec,
    const models::QNetwork* network, double epsilon, std::span<const std::size_t> rows, const placement::Ahead& ahead) {
  auto on_copy = engine_.decide_on_copy({.view = view,
                                         .pod = spec,
                                         .candidates = advice.candidates,
                                         .network = network,
                                         .epsilon = epsilon,
                                         .turn = figures_.decisions,
                                         .random = random_,
                                         .rows = rows,
                                         .ahead = ahead});
  if (!on_copy) return std::nullopt;
  OpenDecision open{std::move(advice.observation), std::move(advice.node), {}, {}, {}};
  open.predicted.assign(open.node.size(), 0);
  for (std::size_t i = 0; i < advice.recorded.size(); ++i)
    if (advice.recorded[i] < open.predicted.size())
      open.predicted[advice.recorded[i]] = advice.predictions[advice.recorded[i]].value();
  advice = std::move(*on_copy);
  return open;
}

void DecisionCore::refresh(MonoTime now) {
  if (now - refreshed_ < kRefreshEvery) return;
  refreshed_ = now;
  const placement::ClusterView& view = state_.view({}, now);
  follow_recalled(now);
  engine_.cluster_model().pod_time().set_acting(acts(arm().arm));
  update_control_block();
  networks_.offer();
  const placement::Candidate served = engine_.trials().serves();
  engine_.refresh(view);
  if (engine_.trials().serves() != served) ++edition_;
  if (monitors_.look_at(serving_.serving())) ++edition_;
}

void DecisionCore::recall_advice(const wire::Decision& decision) {
  const bool shadow = decision.mode == "shadow" || decision.mode == "observed";
  if (engine_.shadow().shadow() && shadow && decision.policy == spec_.policy && !decision.advice.empty())
    recalled_[decision.pod_uid] = decision.advice;
}

std::vector<MonitorState> DecisionCore::monitor_states() const { return monitors_.rows(ranking_of(spec_)); }

Status DecisionCore::restore(const MonitorState& state) {
  const placement::Candidate served = engine_.trials().serves();
  const Status restored = monitors_.restore(state, ranking_of(spec_));
  if (engine_.trials().serves() != served) ++edition_;
  return restored;
}

void DecisionCore::follow_recalled(MonoTime now) {
  std::erase_if(recalled_, [&](const auto& each) {
    const auto& [uid, advice] = each;
    const Pod* pod = state_.pod(uid);
    const Node* advised = state_.node(advice);
    if (pod == nullptr || pod->node.empty() || advised == nullptr) return false;
    engine_.reserve_again(pod->spec, {advised->row, advice}, {state_.node(pod->node)->row, pod->node}, now);
    return true;
  });
}

}  // namespace wattle::controller
