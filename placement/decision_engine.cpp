#include "placement/decision_engine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "placement/objective.hpp"
#include "placement/paired_choices.hpp"
#include "placement/policies/registry.hpp"

namespace wattle::placement {

namespace {

constexpr const char* kOnTrial =
    "the plan's choice: the network is used once thirty compared decisions cost no more energy on copies of this "
    "cluster";
constexpr const char* kUnproven =
    "the plan's choice: the network has not yet been shown to cost less energy on copies of this cluster";

std::uint64_t pod_key(const std::string& uid) { return std::hash<std::string>()(uid); }

// "7%", "0.3%"
std::string in_percent(double ratio) {
  const double rounded = std::round(1000 * ratio) / 10;
  const std::string text = std::to_string(rounded);
  return text.substr(0, text.find('.') + 2) + "%";
}

double on_the_clock(MonoTime now) { return seconds(now.time_since_epoch()); }

}  // namespace

DecisionEngine::DecisionEngine(EngineOptions options, ClusterModel knowledge)
    : options_(std::move(options)),
      knowledge_(std::move(knowledge)),
      policy_(make_policy("dqn", options_.network).value()),
      plan_gate_{SequentialTest({.begins_gated = options_.require_evidence}), PairedSimulation(), Planner({}), {}, {}},
      learned_gate_{SequentialTest({.begins_gated = true}), PairedSimulation(), Planner({}), {}, {}},
      advised_(options_.advised),
      saving_(options_.modelled) {
  begin_gate_anew("the start");
}

Result<bool> DecisionEngine::take(const std::string& policy, const RewardConfig& reward) {
  WATTLE_TRY(auto made, make_policy(policy, options_.network));
  if (made->name() == policy_->name() && reward == options_.decide.reward) return false;
  policy_ = std::move(made);
  policy_->plan_with(maker_);
  options_.decide.reward = reward;
  begin_gate_anew("another policy or reward");
  return true;
}

void DecisionEngine::plan_with(PlanMaker* maker) {
  maker_ = maker;
  policy_->plan_with(maker);
  for (Planner* each : {&plan_gate_.planner, &learned_gate_.planner, &trial_planner_}) each->plan_with(maker);
}

PodSpec DecisionEngine::expected(PodSpec pod) const {
  if (knowledge_.demand().apps() == 0) return pod;
  const DemandPrediction predicted = knowledge_.predict(pod);
  pod.demand_cores = predicted.cores;
  if (!knowledge_.forecast().pods_stay()) pod.life_s = predicted.life_s;
  return pod;
}

PlacementDecision DecisionEngine::decide(const ClusterView& view, const PodSpec& pod,
                                         std::vector<std::string> candidates, const models::QNetwork* network,
                                         double epsilon, std::uint64_t turn, std::mt19937_64& random,
                                         std::span<const std::size_t> rows, const Ahead& ahead) {
  return decide(view, nullptr, pod, std::move(candidates), network, epsilon, turn, random, rows, ahead);
}

PlacementDecision DecisionEngine::decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                                         std::vector<std::string> candidates, const models::QNetwork* network,
                                         double epsilon, std::uint64_t turn, std::mt19937_64& random,
                                         std::span<const std::size_t> rows, const Ahead& ahead) {
  DecideOptions options = options_.decide;
  options.epsilon = epsilon;
  return decide(view, copy, pod, std::move(candidates), network, options, turn, random, rows, ahead);
}

PlacementDecision DecisionEngine::what_if(const ClusterView& view, const PodSpec& pod,
                                          std::vector<std::string> candidates, const models::QNetwork* network,
                                          const RewardConfig& reward, std::optional<std::size_t> row,
                                          std::uint64_t turn) {
  DecideOptions options = options_.decide;
  options.reward = reward;
  options.epsilon = 0;
  std::mt19937_64 random(turn);
  std::optional<AdvisedCluster::Copy> copy;
  if (const auto known = knowledge_.running(pod.uid); row && known)
    copy = AdvisedCluster::without(view, knowledge_.fleet(view), *row, *known);
  return decide(copy ? copy->view : view, copy ? &copy->fleet : nullptr, pod, std::move(candidates), network, options,
                turn, random, {}, {});
}

PlacementDecision DecisionEngine::decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                                         std::vector<std::string> candidates, const models::QNetwork* network,
                                         const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random,
                                         std::span<const std::size_t> rows, const Ahead& ahead) {
  PolicyInputs inputs = mind(network);
  inputs.rows = rows;
  inputs.ahead = ahead;
  inputs.copy = copy;
  return placement::decide(view, pod, std::move(candidates), inputs, options, turn, random);
}

std::vector<double> DecisionEngine::values(const ClusterView& view, const PodSpec& pod,
                                           std::span<const std::size_t> feasible, std::span<const KubeNode> scheduler,
                                           std::uint64_t turn) {
  std::vector<std::size_t> all(view.nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  PolicyContext context(view, pod, all, feasible, &knowledge_, turn);
  context.scheduler = scheduler;
  std::vector<double> values(all.size(), 0.0);
  policy_->score(context, values);
  return values;
}

PodHandle DecisionEngine::came(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now) {
  if (pod.uid.empty()) return {};
  const PodHandle known = knowledge_.placed(pod, node, now);
  if (copying() && !pod.daemonset) advised_.placed(pod.uid, {row, node}, now);
  const PodEstimate ask = knowledge_.ask(pod);
  policy_->placed({pod_key(pod.uid), ask, row, node, on_the_clock(now)});
  if (pod.daemonset) return known;
  for (PairedSimulation* copies : copies_of_the_cluster())
    copies->placed(pod_key(pod.uid), row, ask, on_the_clock(now));
  return known;
}

void DecisionEngine::left(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row, MonoTime now) {
  advised_.ended(uid);
  std::optional<PodEstimate> ask;
  if (pod != nullptr) {
    ask = knowledge_.ask(*pod);
    policy_->ended({pod_key(uid), *ask, row, {}, on_the_clock(now)});
  }
  for (PairedSimulation* copies : copies_of_the_cluster()) {
    const bool compared = copies->ended(pod_key(uid), on_the_clock(now));
    if (!compared && ask && !pod->daemonset && row) copies->ended_there(*row, *ask, on_the_clock(now));
  }
  knowledge_.gone(uid, now);
}

const Fleet& DecisionEngine::refresh(const ClusterView& view) {
  const Fleet& fleet = knowledge_.refresh(view);
  policy_->prepare(fleet);
  if (copying()) model_saving(view, fleet);
  return fleet;
}

// The planner handles energy rewards and the policy dqn only.
bool DecisionEngine::network_gate_applies() const {
  const RewardConfig& reward = options_.decide.reward;
  return reward.preset == Preset::weighted && reward.weights.energy > 0 && policy_->name() == "dqn";
}

bool DecisionEngine::network_gate_applies(const PodSpec& pod) const { return network_gate_applies() && !pod.daemonset; }

std::vector<std::size_t> DecisionEngine::rows_of(const ClusterView& view, std::span<const std::string> candidates) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : index_.find(view, candidates))
    if (row != RowIndex::kNoRow) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void DecisionEngine::try_plan(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates) {
  if (pod.daemonset || knowledge_.forecast().pods_stay() || !knowledge_.forecast().known()) return;
  const std::vector<std::size_t> rows = rows_of(view, candidates);
  const PodEstimate ask = knowledge_.ask(pod);
  Fleet& fleet = knowledge_.fleet(view);
  const PairExcess* pairs = std::exchange(fleet.pairs, nullptr);  // pair costs are ignored on both sides
  const PairedQuestion question{view, fleet, rows, pod, ask, options_.decide.mask, pod_key(pod.uid)};
  const auto figure =
      plan_trial_.play(question, by_plan(question, trial_planner_, 1), by_plan(question, trial_planner_, 0));
  fleet.pairs = pairs;
  if (figure && plan_record_.add(*figure)) knowledge_.set_plan_trust(plan_record_.ahead() ? 1 : 0);
}

bool DecisionEngine::restore_plan_record(const PlanRecord::State& state) {
  if (!plan_record_.restore(state)) return false;
  knowledge_.set_plan_trust(plan_record_.ahead() ? 1 : 0);
  return true;
}

bool DecisionEngine::compare(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
                             const models::QNetwork& network, bool learned) {
  if (std::exchange(recent_of_learned_, learned) != learned) plan_gate_.recent = {};
  const double behind = plan_gate_.test.mean();
  const bool rested = plan_gate_.test.rests();
  if (!contend(plan_gate_, view, pod, candidates, network, nullptr)) {
    if (rested && plan_gate_.test.on_trial()) plan_gate_.why = kOnTrial;
    return false;
  }
  const std::string over = " predicted energy than the planner's on copies of this cluster, over " +
                           std::to_string(plan_gate_.test.blocks()) + " blocks of decisions";
  if (plan_gate_.test.network_gated()) {
    plan_gate_.why = "the plan's choice: " + std::string(learned ? "the learned network" : "the network") +
                     " is not used because its choices cost " + in_percent(behind) + " more" + over;
    if (plan_gate_.test.rests()) plan_gate_.why += "; the controller retries it after a day";
  } else {
    plan_gate_.why = (certificate_.empty() || learned ? "" : certificate_ + "; ") + "its choices cost " +
                     in_percent(std::abs(behind)) + (behind > 0 ? " more" : " less") + over;
  }
  if (gate_told_) gate_told_({false, plan_gate_.test.network_gated(), plan_gate_.why});
  return true;
}

bool DecisionEngine::compare_learned(const ClusterView& view, const PodSpec& pod,
                                     std::span<const std::string> candidates, const models::QNetwork& learned,
                                     const models::QNetwork& trusted) {
  const double behind = learned_gate_.test.mean();
  if (!contend(learned_gate_, view, pod, candidates, learned, &trusted)) return false;
  const bool gated = learned_gate_.test.network_gated();
  learned_gate_.why = "the learned network costs " + in_percent(std::abs(behind)) + (gated ? " more" : " less") +
                      " predicted energy than the initial network on copies of this cluster";
  if (gate_told_) gate_told_({true, gated, learned_gate_.why});
  return true;
}

// `incumbent` null: the planner.
bool DecisionEngine::contend(ChoiceGate& gate, const ClusterView& view, const PodSpec& pod,
                             std::span<const std::string> candidates, const models::QNetwork& challenger,
                             const models::QNetwork* incumbent) {
  const std::vector<std::size_t> rows = rows_of(view, candidates);
  const Shortlisted heard(challenger, options_.network.shortlist);
  std::optional<Shortlisted> other;
  if (incumbent != nullptr) other.emplace(*incumbent, options_.network.shortlist);
  const PodEstimate ask = knowledge_.ask(pod);
  const RewardConfig& reward = options_.decide.reward;
  std::vector<std::string> ignored;
  const PodSpec asked = with_sane_limits(pod, ignored);
  const Fleet& fleet = knowledge_.fleet(view);
  const double life_s = fleet.pods_stay ? INFINITY : ask.life_s;
  const double latency_w = fleet.latency_price * latency_price_w(reward, life_s);
  const PairedQuestion question{view,  fleet,    rows, asked, ask, options_.decide.mask, pod_key(pod.uid),
                                false, latency_w};
  const double margin = options_.network.margin;
  const auto figure = gate.copies.play(question, by_network(question, gate.planner, reward, &heard, margin),
                                       by_network(question, gate.planner, reward, other ? &*other : nullptr, margin));
  if (!figure) return false;
  gate.recent.add(*figure, view.now);
  return gate.test.add(*figure, gate.copies.block_s());
}

void DecisionEngine::begin_gate_anew(const std::string& why, const std::string& certificate) {
  const bool was = plan_gate_.test.network_gated();
  const bool tried = options_.require_evidence && !certificate.empty();
  certificate_ = certificate;
  plan_gate_.test = SequentialTest({.begins_gated = options_.require_evidence, .begins_on_trial = tried});
  plan_gate_.copies.begin_anew();
  plan_gate_.recent = {};
  plan_gate_.why = tried ? kOnTrial : plan_gate_.test.network_gated() ? kUnproven : certificate;
  begin_learned_anew();
  if (!gate_told_ || was == plan_gate_.test.network_gated()) return;
  gate_told_({false, !was, certificate.empty() ? why : why + ": " + (tried ? plan_gate_.why : certificate)});
}

void DecisionEngine::begin_learned_anew() {
  learned_gate_.test.begin_anew();
  learned_gate_.copies.begin_anew();
  learned_gate_.recent = {};
  learned_gate_.why.clear();
}

bool DecisionEngine::restore_gate(const SequentialTestState& state, std::string why) {
  if (!plan_gate_.test.restore(state)) return false;
  plan_gate_.why = std::move(why);
  return true;
}

}  // namespace wattle::placement
