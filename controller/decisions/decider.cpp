#include "controller/decisions/decider.hpp"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/json/value.hpp"
#include "placement/worth/outcome.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kKeptTimes = 1024;
constexpr Duration kExpireStateEvery = std::chrono::milliseconds(500);  // it looks at every node and pod

template <class T>
void keep(std::deque<T>& values, T value, std::size_t most) {
  values.push_back(std::move(value));
  if (values.size() > most) values.pop_front();
}

placement::PodSpec spec_of(const wire::Ask& ask) {
  placement::PodSpec spec;
  spec.uid = ask.pod_uid;
  spec.name = ask.pod_name;
  spec.pod_namespace = ask.pod_namespace;
  spec.app = ask.app;
  spec.owner = ask.owner;
  spec.tolerates = ask.tolerates;
  for (const std::string& one : ask.prefers) spec.prefers += (spec.prefers.empty() ? "" : ", ") + one;
  spec.score_limit = ask.score_limit;
  spec.request = sane_request(ask.cpu_request_cores, ask.memory_request_bytes);
  spec.daemonset = ask.daemonset;
  spec.latency_soft_ms = ask.latency_soft_ms;
  spec.latency_hard_ms = ask.latency_hard_ms;
  spec.latency_target = ask.latency_target;
  spec.node_name = ask.node_name;
  return spec;
}

placement::PodSpec spec_of(const wire::NextPod& next) {
  placement::PodSpec spec;
  spec.app = next.app;
  spec.request = sane_request(next.cpu_request_cores, next.memory_request_bytes);
  return spec;
}

Duration permitted(const wire::Ask& ask) {
  if (!(ask.defer_ms > 0)) return Duration::zero();
  return from_seconds(std::min(ask.defer_ms / 1e3, seconds(Deferrals::kLongest)));
}

Duration held_by_scheduler(const wire::Ask& ask) {
  if (!(ask.hold_ms > 0)) return Duration::zero();
  return from_seconds(std::min(ask.hold_ms / 1e3, seconds(kLongestHold)));
}

std::string mode_text(Arm arm) {
  const std::string text(to_string(arm));
  return arm == Arm::treated || arm == Arm::control ? "canary, " + text : text;
}

std::string why_neutral(Arm arm, bool sound) {
  if (!sound) return "not applied: the network's output is invalid";
  if (arm == Arm::control) return "not applied: control block of the canary";
  return "not applied: mode is shadow";
}

}  // namespace

Decider::Decider(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, const Clock& clock,
                 std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
                 placement::ClusterModel knowledge)
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
               config.modelled},
              std::move(knowledge)),
      monitors_(engine_, clock_),
      log_(static_cast<std::size_t>(config.decision_ring)),
      next_id_(first_decision_id) {
  take(configured_spec(config));
}

void Decider::take(const RolloutSpec& spec) {
  if (!(engine_.options().reward == spec.reward)) {
    monitors_.reward_changes();
    figures_.rewards.clear();  // a mean over two rewards is of neither
  }
  spec_ = spec;
  ++takes_;
  engine_.cluster_model().set_limits(spec.limits);
  const auto other = engine_.set_policy(spec.policy, spec.reward);
  assert(other);     // callers check the spec
  repeats_.clear();  // an answer of before is no answer now
  monitors_.changed(*other);
  engine_.shadow().set_shadow(spec.mode.mode == Mode::shadow, *other);
  follow_block();
}

// Plays advice forward in a control block, as in shadow, so that the modelled saving covers what the canary measures.
void Decider::follow_block() {
  const bool control = arm().arm == Arm::control;
  engine_.shadow().set_control(control ? std::optional(block_at(spec_.schedule, clock_.wall()).number) : std::nullopt);
}

void Decider::plan_with(placement::PlanMaker& maker) { engine_.plan_with(&maker); }

wire::Suggestion Decider::ask(wire::Ask ask) {
  const MonoTime now = clock_.mono();
  follow_block();
  ++figures_.asks;
  wire::Suggestion answer;
  answer.policy = spec_.policy;
  const std::uint64_t request_id = ask.request_id;
  answer.scores.assign(ask.candidates.size(), 0);
  if (spec_.mode.mode == Mode::off) {
    answer.reason = "mode is off";
  } else if (ask.candidates.empty()) {
    answer.reason = "no candidates";
  } else if (auto repeated = repeats_.find(ask, config_.repeat_within, now)) {
    ++figures_.repeated;
    answer = std::move(*repeated);
  } else {
    answer = decide(std::move(ask), now);
  }
  answer.request_id = request_id;
  answer.mode = to_string(spec_.mode.mode);
  return answer;
}

std::vector<placement::PodSpec> Decider::next_pods(const wire::Ask& ask) const {
  std::vector<placement::PodSpec> next;
  for (const wire::NextPod& each : ask.next) {
    if (next.size() == placement::kMaxAhead) return next;
    next.push_back(spec_of(each));
  }
  if (next.empty()) next = state_.queue(static_cast<std::size_t>(config_.look_ahead), ask.pod_uid);
  return next;
}

wire::Suggestion Decider::decide(wire::Ask ask, MonoTime now) {
  const placement::PodSpec spec = engine_.expected(spec_of(ask));
  state_.land(spec.uid);  // an earlier expectation of this pod must not count against its node
  engine_.shadow().withdraw(spec.uid);
  recalled_.erase(spec.uid);
  if (const Pod* before = state_.pod(spec.uid); before != nullptr && before->asked) {
    open_.take(before->decision_id);  // only the newest decision of a pod can become its placement
  }
  const Heard heard = this->heard();
  const models::QNetwork* network = heard.network.get();
  const std::uint64_t id = next_id_++;
  const auto rows = engine_.index().find(state_.raw_view(), ask.candidates);
  const placement::ClusterView& view = state_.view(spec, rows, now);
  const ArmNow arm = this->arm();
  const std::vector<placement::PodSpec> next = next_pods(ask);
  const Duration may_wait = acts(arm.arm) ? deferrals_.left(spec.uid, permitted(ask), now) : Duration::zero();
  const placement::Ahead ahead{next, seconds(may_wait)};
  const Duration hold = held_by_scheduler(ask);
  placement::PlacementDecision advice = engine_.decide({.view = view,
                                                        .pod = spec,
                                                        .candidates = std::move(ask.candidates),
                                                        .network = network,
                                                        .epsilon = epsilon(),
                                                        .turn = figures_.decisions,
                                                        .random = random_,
                                                        .rows = rows,
                                                        .ahead = ahead});
  const bool takes_it = advice.top.has_value();  // some node of the cluster as it is
  std::optional<OpenDecision> open = go_by_copy(advice, view, spec, network, epsilon(), rows, ahead);
  wire::Decision decision = std::move(advice.record);
  decision.id = id;
  decision.wall_ns = to_ns(clock_.wall());
  if (advice.deferred) decision.defer_until_ns = to_ns(clock_.wall() + may_wait);
  decision.mode = mode_text(arm.arm);
  const bool learned = engine_.usable(network) != nullptr && engine_.policy().learns;
  decision.model_step = learned ? network->step() : 0;
  decision.problems.insert(decision.problems.begin(), ask.problems.begin(), ask.problems.end());
  decision.decide_us = seconds(clock_.mono() - now) * 1e6;

  wire::Suggestion answer;
  answer.decision_id = id;
  answer.policy = decision.policy;
  answer.model_step = decision.model_step;
  const bool sound = !decided_ || decided_(arm, advice.max_abs_residual);
  const bool acting = acts(arm.arm) && sound;
  answer.neutral = !acting || !advice.top;
  answer.reason = acting ? decision.reason : why_neutral(arm.arm, sound);
  if (acting && advice.deferred) {
    answer.again_ms = decision.defer_ms;
    answer.defer_left_ms = seconds(may_wait) * 1e3;
  }
  answer.scores = answer.neutral ? std::vector<std::int64_t>(advice.candidates.size(), 0) : advice.scores;

  ++figures_.decisions;
  ++figures_.decided_by[decision.decided_by];
  keep(figures_.decide_us, decision.decide_us, kKeptTimes);
  figures_.decide_s.add(decision.decide_us * 1e-6);
  keep(figures_.decided_at, now, kKeptTimes);
  const auto& valid = advice.observation.valid;
  const bool any_feasible = std::find(valid.begin(), valid.end(), 1) != valid.end();
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(spec);
  entry.asked = spec;
  if (learned) entry.model = heard.version;
  if (entry.winner_terms) entry.winner_terms->uncertainty = monitors_.uncertainty(entry.winner);
  if (entry.runner_up_terms) entry.runner_up_terms->uncertainty = monitors_.uncertainty(entry.runner_up);
  if (takes_it && spec.node_name.empty()) monitors_.offer(spec, advice.candidates);
  if (!spec.uid.empty()) {
    state_.ask(spec, id, advice.top.has_value(), now);
    if (acting && advice.top) state_.fly(spec.uid, entry.decision.advice, now, hold);
    engine_.reserve(spec, advice, now, hold);
    if (const Pod* asked = state_.pod(spec.uid); asked != nullptr && asked->watched) engine_.shadow().keep(spec.uid);
    // If all nodes have the same value, the scheduler's choice is still learned from; otherwise their values would
    // never differ.
    if (!open && any_feasible) open = OpenDecision{std::move(advice.observation), std::move(advice.node), {}, {}, {}};
    if (open) {
      open->at = now;
      open->arm = arm;
      open_.add(id, std::move(*open));
    }
    repeats_.keep(spec.uid, std::move(advice.candidates), answer, now);
  }
  log_.add(std::move(entry));
  changed_.insert(id);
  return answer;
}

// Shadow's advice adds up on a copy of the cluster. The pod goes to the cluster as it is: what is learned from is that.
std::optional<OpenDecision> Decider::go_by_copy(placement::PlacementDecision& advice,
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

bool Decider::placed(const std::string& pod_uid, const std::string& node, bool by_operator) {
  return place(pod_uid, node, by_operator ? PlacementSource::by_operator : PlacementSource::by_agent);
}

bool Decider::resumed(const std::string& pod_uid, const std::string& node) {
  return place(pod_uid, node, PlacementSource::by_store);
}

bool Decider::place(const std::string& pod_uid, const std::string& node, PlacementSource told) {
  const MonoTime now = clock_.mono();
  const Node* known = state_.node(node);
  if (known == nullptr || pod_uid.empty() || state_.buried(pod_uid)) return false;
  const std::size_t row = known->row;
  const bool recalled = recall_pod(pod_uid, node);
  const Pod* before = state_.pod(pod_uid);
  const bool by_operator = told == PlacementSource::by_operator || told == PlacementSource::by_store;
  if (before != nullptr && before->node == node) {
    state_.bind(pod_uid, node, by_operator, now);
    return false;
  }
  if (told == PlacementSource::by_agent && known->pods.size() >= kMaxPods) {
    ++figures_.placements_beyond;
    return false;
  }
  const bool settled = before != nullptr && before->watched && !before->node.empty();
  if (settled && (told == PlacementSource::by_agent || told == PlacementSource::by_operator)) return false;
  // Pods of a list, or of a node's first record, may have run for long.
  const bool expected = before != nullptr && !before->in_flight_to.empty();
  const bool ran_before = recalled || told == PlacementSource::by_list || told == PlacementSource::by_store;
  const bool starts = expected || (!ran_before && (told != PlacementSource::by_agent || known->samples > 1));
  // The state "before" the placement: the pod is neither expected nor there.
  state_.land(pod_uid);
  const bool waited = before != nullptr && before->node.empty();
  const placement::PodSpec spec = before != nullptr ? before->spec : placement::PodSpec{};
  std::uint64_t id = waited && before->asked ? before->decision_id : 0;
  const bool unasked = id == 0;
  if (unasked && waited && before->watched && told != PlacementSource::by_list) id = observe(spec, node, now);
  const bool asked = id != 0;
  if (before != nullptr && !before->node.empty()) {  // it runs elsewhere now
    windows_.pod_gone(pod_uid, before->node);
    left(pod_uid, now);
  }
  std::optional<placement::RawOutcome> begun;
  if (asked) begun = placement::begin_outcome(state_.raw_view(), spec, row, engine_.options().reward);
  state_.bind(pod_uid, node, by_operator, now);
  if (starts) state_.started(pod_uid, node, now);
  if (starts && placed_) placed_(state_.pod(pod_uid)->spec, node);
  engine_.on_pod_started(spec, node, row, now);
  ++figures_.placements;
  figures_.placements_unasked += unasked && !recalled ? 1 : 0;
  if (!asked) return true;
  LoggedDecision* entry = log_.find(id);
  if (entry != nullptr) {
    entry->decision.placed_on = node;
    changed_.insert(id);
  }
  std::optional<ArmNow> arm;
  if (auto open = open_.take(id)) {
    arm = open->arm;
    const auto& rows = open->node;
    const auto at = static_cast<std::size_t>(std::find(rows.begin(), rows.end(), row) - rows.begin());
    if (at < rows.size() && open->observation.valid[at] != 0) {
      if (entry != nullptr && !open->predicted.empty()) entry->expected = open->predicted[at];
      learn_(PlacedNews{id, std::move(open->observation), static_cast<std::uint32_t>(at), now});
    } else {
      ++figures_.placements_masked;
    }
  }
  repeats_.forget(pod_uid);
  begun->placement = watched_++;
  const Duration window = settle_window(config_, engine_.options().reward.preset);
  windows_.open({id, spec, node, row, now, window, std::move(*begun), arm});
  return true;
}

void Decider::gone(const std::string& pod_uid, const std::string& node) {
  if (const Pod* pod = state_.pod(pod_uid); pod != nullptr && pod->watched && pod->node == node) {
    // The pod's containers may return; the pod keeps its node until the API server reports that and how it ended.
    windows_.pod_gone(pod_uid, node, false);
    return;
  }
  if (const Pod* pod = state_.pod(pod_uid); pod == nullptr || pod->node != node) return;
  left(pod_uid, clock_.mono());
  windows_.pod_gone(pod_uid, node);
  state_.unbind(pod_uid, node);
}

void Decider::greeted(const wire::Hello& hello) {
  if (const placement::PowerCurve* curve = engine_.cluster_model().kept_curve(hello.node))
    state_.adopt_curve(hello.node, *curve);
}

void Decider::expire() {
  const MonoTime now = clock_.mono();
  if (now - state_expired_ >= kExpireStateEvery) {
    state_expired_ = now;
    state_.expire(now);
  }
  settle(windows_.over(now));
  refresh(now);
  repeats_.expire(config_.repeat_within, now);
  deferrals_.expire(now);
  open_.expire(now);
}

void Decider::refresh(MonoTime now) {
  if (now - refreshed_ < kRefreshEvery) return;
  refreshed_ = now;
  const placement::ClusterView& view = state_.view({}, now);
  follow_recalled(now);
  engine_.cluster_model().set_acting(acts(arm().arm));
  follow_block();
  engine_.refresh(view);
  if (heard().network != nullptr && monitors_.look_at(networks_.serving())) repeats_.clear();
  if (!monitors_.due(now)) return;
  const Heard heard = this->heard();
  if (monitors_.compare(state_, networks_.serving(), heard.network.get())) repeats_.clear();
}

}  // namespace wattle::controller
