#include "controller/decisions/decision_core.hpp"

#include <cassert>
#include <cmath>
#include <string_view>
#include <utility>

#include "common/json/value.hpp"

namespace wattle::controller {

namespace {

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
      networks_(networks),
      clock_(clock),
      learn_(std::move(learn)),
      random_(static_cast<std::uint64_t>(config.seed)),
      engine_({config.decide,
               config.require_evidence,
               config.network,
               {.unseen = config.in_flight_expiry, .start_window = config.decide.mask.start_cap.window},
               config.modelled,
               {.on = config.measure_candidates && config.require_evidence,
                .length = config.blocks.length,
                .washout = config.blocks.washout,
                .seed = static_cast<std::uint64_t>(config.seed)}},
              std::move(cluster_model)),
      monitors_(engine_, clock_),
      log_(static_cast<std::size_t>(config.decision_ring)),
      next_id_(first_decision_id) {
  take(configured_spec(config));
}

void DecisionCore::take(const RolloutSpec& spec) {
  if (!(engine_.options().reward == spec.reward)) {
    monitors_.reward_changes();
    figures_.rewards.clear();  // a mean over two rewards is of neither
  }
  spec_ = spec;
  ++takes_;
  engine_.cluster_model().set_limits(spec.limits);
  const auto other = engine_.set_policy(spec.policy, spec.reward);
  assert(other);  // callers check the spec
  ++edition_;     // an answer of before is no answer now
  monitors_.changed(*other);
  engine_.shadow().set_modelled(modelled_in(spec.mode.mode), *other);
  follow_block();
  engine_.set_acting_for_trials(spec.mode.mode == Mode::live);
}

// Plays advice forward in a control block, as in shadow, so that the modelled saving covers what the canary measures.
void DecisionCore::follow_block() {
  const bool control = arm().arm == Arm::control;
  engine_.shadow().set_control(control ? std::optional(block_at(spec_.schedule, clock_.wall()).number) : std::nullopt);
}

void DecisionCore::plan_with(placement::PlanMaker& maker) { engine_.plan_with(&maker); }

// Shadow's advice adds up on a copy of the cluster. The pod goes to the cluster as it is: what is learned from is that.
std::optional<OpenDecision> DecisionCore::go_by_copy(placement::PlacementDecision& advice,
                                                     const placement::ClusterView& view, const placement::PodSpec& spec,
                                                     const models::QNetwork* network, double epsilon,
                                                     std::span<const std::size_t> rows, const placement::Ahead& ahead) {
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
  engine_.cluster_model().set_acting(acts(arm().arm));
  follow_block();
  offer_networks();
  const placement::Candidate served = engine_.trials().serves();
  engine_.refresh(view);
  if (engine_.trials().serves() != served) ++edition_;
  if (predicted().network != nullptr && monitors_.look_at(networks_.serving())) ++edition_;
  if (!monitors_.due(now)) return;
  const InUse in_use = predicted();
  if (monitors_.compare(state_, networks_.serving(), in_use.network.get())) ++edition_;
}

void DecisionCore::recall_advice(const wire::Decision& decision) {
  const bool shadow = decision.mode == "shadow" || decision.mode == "observed";
  if (engine_.shadow().shadow() && shadow && decision.policy == spec_.policy && !decision.advice.empty())
    recalled_[decision.pod_uid] = decision.advice;
}

std::vector<MonitorState> DecisionCore::monitor_states() const { return monitors_.rows(ranking_of(spec_)); }

Status DecisionCore::restore(const MonitorState& state) {
  WATTLE_TRY(const bool verdict_changed, monitors_.restore(state, ranking_of(spec_)));
  if (verdict_changed) ++edition_;
  return {};
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

DecisionCore::InUse DecisionCore::in_use() const {
  if (!engine_.trials().active() || !placement::is_network(engine_.trials().serves())) return predicted();
  ServingModel::Serving serving = networks_.serving();
  const bool learned = engine_.trials().serves() == placement::Candidate::learned;
  if (learned && fits(serving.network, serving.version))
    return {std::move(serving.network), std::move(serving.version), true};
  if (!learned && fits(serving.trusted, serving.trusted_version))
    return {std::move(serving.trusted), std::move(serving.trusted_version), false};
  return predicted();
}

void DecisionCore::offer_networks() {
  if (!engine_.trials().active()) return;
  const ServingModel::Serving serving = networks_.serving();
  const bool held = fits(serving.trusted, serving.trusted_version);
  const bool learns =
      fits(serving.network, serving.version) && !(held && serving.version.sha256 == serving.trusted_version.sha256);
  const bool by_learned = learns && (!held || !engine_.learned_gated());
  // The gate compares the network that it would use with the planner, and the learned one with the initial one.
  const bool worth = !engine_.gates().network_gated();
  engine_.trials().offer(placement::Candidate::baseline, held && (by_learned || worth));
  engine_.trials().offer(placement::Candidate::learned, by_learned && worth);
}

DecisionCore::InUse DecisionCore::predicted() const {
  ServingModel::Serving serving = networks_.serving();
  const bool learned = fits(serving.network, serving.version);
  if (fits(serving.trusted, serving.trusted_version) && (engine_.learned_gated() || !learned))
    return {std::move(serving.trusted), std::move(serving.trusted_version), false};
  if (!learned) return {};
  return {std::move(serving.network), std::move(serving.version), true};
}

DecisionCore::NetworkStates DecisionCore::network_states() const {
  const ServingModel::Serving serving = networks_.serving();
  const bool held = fits(serving.trusted, serving.trusted_version);
  const bool learns =
      fits(serving.network, serving.version) && !(held && serving.version.sha256 == serving.trusted_version.sha256);
  const bool applies = engine_.network_gate_applies(), by_learned = learns && (!held || !engine_.learned_gated());
  const auto of_server = applies ? engine_.gates().network_test().state() : stats::NetworkState::in_use;
  NetworkStates states;
  if (held) states.baseline = by_learned ? stats::NetworkState::candidate : of_server;
  if (learns) states.learned = by_learned ? of_server : engine_.gates().learned_test().state();
  if (!engine_.trials().active()) return states;
  if (held) states.baseline = engine_.trials().state(placement::Candidate::baseline);
  if (learns) states.learned = engine_.trials().state(placement::Candidate::learned);
  return states;
}

std::vector<Contender> DecisionCore::measured_contenders() const {
  const placement::CandidateTrials& trials = engine_.trials();
  std::vector<Contender> all;
  for (const placement::Candidate each : placement::kCandidates) {
    const bool in_use = each == trials.in_use();
    Contender one{(placement::is_network(each) ? "the network " : "the policy ") + std::string(trials.name(each)),
                  in_use,
                  each == trials.serves() && !in_use ? "it has the present block" : "",
                  {},
                  {}};
    if (each != placement::Candidate::floor || in_use) one.state = trials.state(each);
    if (const auto mean = trials.difference(each)) {
      MeasuredDifference measured{
          std::string(trials.name(placement::Candidate::floor)), std::expm1(*mean), {}, {}, 0, {}};
      if (const auto interval = trials.interval(each)) {
        measured.low = std::expm1(interval->low);
        measured.high = std::expm1(interval->high);
      }
      measured.groups = trials.groups(each);
      measured.wait_ratio = trials.waited(each).mean();
      one.measured = std::move(measured);
    }
    all.insert(in_use ? all.begin() : all.end(), std::move(one));
  }
  return all;
}

std::vector<Contender> DecisionCore::contenders() const {
  if (engine_.trials().active()) return measured_contenders();
  const InUse in_use = this->in_use();
  if (in_use.network == nullptr || !engine_.policy().learns) return {};
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
  const auto in_charge = in_use.learned && learns ? states.learned : states.baseline;
  Contender network{name_of(in_use.learned, in_use.version), !gated, {}, in_use.version.certificate, {}, in_charge};
  if (applies && !gated) network.why = "the plan replaces it if its choices cost more than the plan's";
  if (applies && engine_.gates().recent_is_of_learned() == (in_use.learned && held))
    compared(network, "the plan", engine_.gates().recent());
  if (in_use.learned && held && learns) compared(network, "the initial network", engine_.gates().recent_learned());

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
    const bool other_learned = !in_use.learned;
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
double DecisionCore::epsilon() const {
  const InUse in_use = this->in_use();
  const bool began_with = in_use.network != nullptr && !in_use.learned;
  return network_gated() || began_with ? 0 : engine_.options().epsilon;
}

}  // namespace wattle::controller
