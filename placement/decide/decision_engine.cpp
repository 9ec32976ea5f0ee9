#include "placement/decide/decision_engine.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "placement/cluster/sane_view.hpp"
#include "placement/decide/default_choice.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::placement {

namespace {

double on_the_clock(MonoTime now) { return seconds(now.time_since_epoch()); }

std::uint64_t pod_key(const std::string& uid) { return std::hash<std::string>()(uid); }

}  // namespace

DecisionEngine::DecisionEngine(EngineOptions options, ClusterModel model)
    : options_(std::move(options)),
      model_(std::move(model)),
      policy_(make_policy("dqn", options_.network).value()),
      floor_(make_policy(kFloorPolicy, options_.network).value()),
      planner_(make_policy("planner", options_.network).value()),
      trials_(options_.trials),
      shadow_(options_.advised, options_.modelled) {}

Result<bool> DecisionEngine::set_policy(const std::string& policy, const RewardConfig& reward) {
  WATTLE_TRY(auto made, make_policy(policy, options_.network));
  return set_policy(std::move(made), reward);
}

bool DecisionEngine::set_policy(std::unique_ptr<Policy> made, const RewardConfig& reward) {
  if (made->name() == policy_->name() && reward == options_.decide.reward) return false;
  policy_ = std::move(made);
  policy_->plan_with(maker_);
  options_.decide.reward = reward;
  for (const Candidate each : kCandidates) trials_.forget(each);
  set_acting_for_trials(acting_for_trials_);
  return true;
}

void DecisionEngine::plan_with(PlanMaker* maker) {
  maker_ = maker;
  for (Policy* each : all_policies()) each->plan_with(maker);
}

PodSpec DecisionEngine::expected(PodSpec pod) const {
  if (model_.demand().apps() == 0) return pod;
  const DemandPrediction predicted = model_.predict(pod);
  pod.demand_cores = predicted.cores;
  if (!model_.forecast().pods_stay()) pod.life_s = predicted.life_s;
  return pod;
}

PlacementDecision DecisionEngine::decide(Question question) {
  DecideOptions options = options_.decide;
  options.epsilon = question.epsilon;
  return decide_on(question.view, nullptr, std::move(question), options);
}

std::optional<PlacementDecision> DecisionEngine::decide_on_copy(Question question) {
  if (!question.pod.node_name.empty()) return std::nullopt;
  AdvisedCluster::Copy* copy = shadow_.copy(question.view, model_.fleet(question.view), question.pod.owner);
  if (copy == nullptr) return std::nullopt;
  DecideOptions options = options_.decide;
  options.epsilon = question.epsilon;
  return decide_on(copy->view, &copy->fleet, std::move(question), options);
}

PlacementDecision DecisionEngine::what_if(Question question, const RewardConfig& reward,
                                          std::optional<std::size_t> row) {
  DecideOptions options = options_.decide;
  options.reward = reward;
  options.epsilon = 0;
  std::optional<AdvisedCluster::Copy> copy;
  if (const auto known = model_.running(model_.pods().find(question.pod.uid)); row && known)
    copy = AdvisedCluster::without(question.view, model_.fleet(question.view), *row, *known);
  return decide_on(copy ? copy->view : question.view, copy ? &copy->fleet : nullptr, std::move(question), options);
}

// `copy`: the policies' data on the view's nodes; null: that of the cluster model.
PlacementDecision DecisionEngine::decide_on(const ClusterView& view, Fleet* copy, Question question,
                                            const DecideOptions& options) {
  PolicyInputs inputs = this->inputs(question.network);
  inputs.rows = question.rows;
  inputs.ahead = question.ahead;
  inputs.copy = copy;
  if (copy != nullptr) inputs.facts = &copy_facts_;
  if (!(options.reward == options_.decide.reward)) {  // candidates were measured under the reward in force
    inputs.chooser = nullptr;
    inputs.gate = {};
  }
  return placement::decide(view, question.pod, std::move(question.candidates), inputs, options, question.turn,
                           question.random);
}

void DecisionEngine::reserve(const PodSpec& pod, const PlacementDecision& advice, MonoTime now, Duration hold) {
  if (!shadow_.active() || !advice.top) return;
  shadow_.reserve(pod, {advice.node[advice.row_of[*advice.top]], advice.candidates[*advice.top]}, model_.ask(pod), now,
                  hold);
}

void DecisionEngine::reserve_default(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> offered,
                                     Duration hold) {
  const AdvisedCluster* copy = shadow_.with_default();
  if (copy == nullptr || !pod.node_name.empty() || pod.daemonset) return;
  if (const auto row = default_choice(view, pod, offered, *copy, default_ties_))
    shadow_.reserve_default(pod, {*row, view.nodes[*row].name}, model_.ask(pod), view.now, hold);
}

void DecisionEngine::reserve_again(const PodSpec& pod, AdvisedCluster::Place advised, AdvisedCluster::Place runs,
                                   MonoTime now) {
  shadow_.reserve_again(pod, std::move(advised), std::move(runs),
                        model_.running(model_.pods().find(pod.uid)).value_or(model_.ask(pod)), now);
}

std::vector<double> DecisionEngine::values(const ClusterView& view, const PodSpec& pod,
                                           std::span<const std::size_t> feasible, std::span<const KubeNode> scheduler,
                                           std::uint64_t turn) {
  std::vector<std::size_t> all(view.nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  PolicyContext context(view, pod, all, feasible, &model_, turn);
  context.scheduler = scheduler;
  std::vector<double> values(all.size(), 0.0);
  policy_->score(context, values);
  return values;
}

PodHandle DecisionEngine::on_pod_started(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now) {
  if (pod.uid.empty()) return {};
  const PodHandle known = model_.placed(pod, node, now);
  shadow_.on_pod_started(pod, {row, node}, now);
  const PodEstimate ask = model_.ask(pod);
  if (!pod.daemonset) trials_.on_pod_started(pod_key(pod.uid), std::max(pod.request.cpu_cores, kRequestWhenNone));
  for (Policy* each : all_policies()) each->placed({pod_key(pod.uid), ask, row, node, on_the_clock(now)});
  return known;
}

void DecisionEngine::on_usage(std::span<const PodReading> readings, double interval_s) {
  model_.used(readings, interval_s);
  shadow_.on_usage(readings, model_);
}

void DecisionEngine::on_pod_leaving(const std::string& uid, MonoTime now) {
  model_.leaving(uid, now);
  shadow_.on_pod_leaving(model_.pods().find(uid), model_);
}

void DecisionEngine::on_pod_ended(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row,
                                  MonoTime now) {
  shadow_.on_pod_ended(uid);
  trials_.on_pod_ended(pod_key(uid));
  if (pod != nullptr) {
    const PodEstimate ask = model_.ask(*pod);
    for (Policy* each : all_policies()) each->ended({pod_key(uid), ask, row, {}, on_the_clock(now)});
  }
  model_.gone(uid, now);
}

const Fleet& DecisionEngine::refresh(const ClusterView& view) {
  const Fleet& fleet = model_.refresh(view);
  policy_->prepare(fleet);
  shadow_.refresh(view, fleet);
  if (!measured()) return fleet;
  if (trials_.state(Candidate::planner) != stats::NetworkState::candidate) planner_->prepare(fleet);
  trials_.offer(Candidate::planner, model_.forecast().known() && !model_.forecast().pods_stay());
  const Budget& wait = model_.pod_time().cpu_wait();
  WaitNow now;
  if (wait.measured() && wait.reported()) now.ratio = wait.recent();
  if (wait.in_force()) now.limit = wait.limit();
  trials_.watch(view, now);
  model_.set_plan_trust(trials_.serves() == Candidate::planner ? 1 : 0);
  return fleet;
}

void DecisionEngine::set_acting_for_trials(bool acting) {
  acting_for_trials_ = acting;
  trials_.set_active(acting && measured());
  if (!measured()) model_.set_plan_trust(0);
}

Policy* DecisionEngine::chooser() const {
  if (!gated()) return nullptr;
  return trials_.serves() == Candidate::planner ? planner_.get() : floor_.get();
}

// Joules decide only under energy rewards and the policy dqn.
bool DecisionEngine::measured() const {
  const RewardConfig& reward = options_.decide.reward;
  return trials_.on() && reward.preset == Preset::weighted && reward.weights.energy > 0 && policy_->name() == "dqn";
}

}  // namespace wattle::placement
