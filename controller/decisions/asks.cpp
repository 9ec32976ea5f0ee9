#include "controller/decisions/asks.hpp"

#include <algorithm>
#include <utility>

#include "controller/state/sane_request.hpp"
#include "placement/decide/board.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kKeptTimes = 1024;

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

wire::Suggestion Asks::ask(wire::Ask ask) {
  const MonoTime now = clock_.mono();
  core_.update_control_block();
  drop_outdated();
  ++core_.figures().asks;
  wire::Suggestion answer;
  answer.policy = core_.spec().policy;
  const std::uint64_t request_id = ask.request_id;
  answer.scores.assign(ask.candidates.size(), 0);
  if (core_.spec().mode.mode == Mode::off) {
    answer.reason = "mode is off";
  } else if (ask.candidates.empty()) {
    answer.reason = "no candidates";
  } else if (auto repeated = repeats_.find(ask, core_.config().repeat_within, now)) {
    answer = std::move(*repeated);
  } else {
    answer = decide(std::move(ask), now);
  }
  answer.request_id = request_id;
  answer.mode = to_string(core_.spec().mode.mode);
  return answer;
}

std::vector<placement::PodSpec> Asks::next_pods(const wire::Ask& ask) const {
  std::vector<placement::PodSpec> next;
  for (const wire::NextPod& each : ask.next) {
    if (next.size() == placement::kMaxAhead) return next;
    next.push_back(spec_of(each));
  }
  if (next.empty()) next = state_.pods().queue(static_cast<std::size_t>(core_.config().look_ahead), ask.pod_uid);
  return next;
}

wire::Suggestion Asks::decide(wire::Ask ask, MonoTime now) {
  const placement::PodSpec spec = core_.engine().expected(spec_of(ask));
  state_.pods().drop_expected(spec.uid);  // an earlier expectation of this pod must not count against its node
  core_.engine().shadow().withdraw(spec.uid);
  core_.forget_advice(spec.uid);
  if (const Pod* before = state_.pod(spec.uid); before != nullptr && before->asked) {
    core_.open().take(before->decision_id);  // only the newest decision of a pod can become its placement
  }
  const NetworkChoice::InUse in_use = core_.networks().in_use();
  const models::QNetwork* network = in_use.network.get();
  const std::uint64_t id = core_.log().next_id();
  const auto rows = core_.engine().index().find(state_.raw_view(), ask.candidates);
  const placement::ClusterView& view = state_.view(spec, rows, now);
  const ArmNow arm = core_.arm();
  const std::vector<placement::PodSpec> next = next_pods(ask);
  const Duration may_wait = acts(arm.arm) ? deferrals_.left(spec.uid, permitted(ask), now) : Duration::zero();
  const placement::Ahead ahead{next, seconds(may_wait)};
  const Duration hold = held_by_scheduler(ask);
  placement::PlacementDecision advice = core_.engine().decide({.view = view,
                                                               .pod = spec,
                                                               .candidates = std::move(ask.candidates),
                                                               .network = network,
                                                               .epsilon = core_.networks().epsilon(),
                                                               .turn = core_.figures().decisions,
                                                               .random = core_.random(),
                                                               .rows = rows,
                                                               .ahead = ahead});
  std::optional<OpenDecision> open =
      core_.decide_on_shadow(advice, view, spec, network, core_.networks().epsilon(), rows, ahead);
  wire::Decision decision = std::move(advice.record);
  decision.id = id;
  decision.wall_ns = to_ns(clock_.wall());
  if (advice.deferred) decision.defer_until_ns = to_ns(clock_.wall() + may_wait);
  decision.mode = mode_text(arm.arm);
  const bool learned = core_.engine().usable(network) != nullptr && core_.engine().policy().learns;
  decision.model_step = learned ? network->step() : 0;
  decision.problems.insert(decision.problems.begin(), ask.problems.begin(), ask.problems.end());
  decision.decide_us = seconds(clock_.mono() - now) * 1e6;

  wire::Suggestion answer;
  answer.decision_id = id;
  answer.policy = decision.policy;
  answer.model_step = decision.model_step;
  const bool sound = sink_.on_decided(arm, advice.max_abs_residual);
  const bool acting = acts(arm.arm) && sound;
  answer.neutral = !acting || !advice.top;
  answer.reason = acting ? decision.reason : why_neutral(arm.arm, sound);
  if (acting && advice.deferred) {
    answer.again_ms = decision.defer_ms;
    answer.defer_left_ms = seconds(may_wait) * 1e3;
  }
  answer.scores = answer.neutral ? std::vector<std::int64_t>(advice.candidates.size(), 0) : advice.scores;

  ++core_.figures().decisions;
  ++core_.figures().decided_by[decision.decided_by];
  keep(core_.figures().decide_us, decision.decide_us, kKeptTimes);
  core_.figures().decide_s.add(decision.decide_us * 1e-6);
  keep(core_.figures().decided_at, now, kKeptTimes);
  const auto& valid = advice.observation.valid;
  const bool any_feasible = std::find(valid.begin(), valid.end(), 1) != valid.end();
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(spec);
  entry.asked = spec;
  if (learned) entry.model = in_use.version;
  if (entry.winner_terms) entry.winner_terms->uncertainty = core_.monitors().uncertainty(entry.winner);
  if (entry.runner_up_terms) entry.runner_up_terms->uncertainty = core_.monitors().uncertainty(entry.runner_up);
  if (!spec.uid.empty()) {
    core_.engine().reserve_default(view, spec, advice.node, hold);
    state_.pods().ask(spec, id, advice.top.has_value(), now);
    if (acting && advice.top) state_.pods().expect_on(spec.uid, entry.decision.advice, now, hold);
    core_.engine().reserve(spec, advice, now, hold);
    if (const Pod* asked = state_.pod(spec.uid); asked != nullptr && asked->watched)
      core_.engine().shadow().keep(spec.uid);
    // The learner uses the scheduler's choice even if all nodes have the same value; otherwise their values would never
    // differ.
    if (!open && any_feasible) open = OpenDecision{std::move(advice.observation), std::move(advice.node), {}, {}, {}};
    if (open) {
      open->at = now;
      open->arm = arm;
      core_.open().add(id, std::move(*open));
    }
    drop_outdated();  // on_decided() may have changed the spec
    repeats_.keep(spec.uid, std::move(advice.candidates), answer, now);
  }
  core_.log().add(std::move(entry));
  core_.log().changed(id);
  return answer;
}

std::vector<wire::BoardClass> Asks::board() {
  const auto network = core_.networks().in_use().network;
  return placement::board_classes(state_.view({}, clock_.mono()), core_.engine().inputs(network.get()),
                                  core_.engine().options(), core_.figures().decisions, core_.random());
}

void Asks::report_starts(wire::Board& board) {
  const StartCap& cap = core_.engine().options().mask.start_cap;
  state_.view({}, clock_.mono());
  board.last_decision = core_.log().last_id();
  board.start_window_ms = 1000 * seconds(cap.window);
  for (const wire::BoardClass& one : board.classes) {
    for (const auto& [name, score] : one.scores) {
      const placement::NodeView* node = state_.node_view(name);
      if (node == nullptr) continue;
      const std::uint64_t most = cap.of(node->allocatable.cpu_cores);
      board.starts_left[name] = most - std::min(most, node->starts);
    }
  }
}

wire::BoardClass Asks::board_class(std::size_t number) {
  const auto network = core_.networks().in_use().network;
  return placement::board_class(number, state_.view({}, clock_.mono()), core_.engine().inputs(network.get()),
                                core_.engine().options(), core_.figures().decisions, core_.random());
}

LoggedDecision Asks::what_if(placement::PodSpec pod, std::vector<std::string> candidates,
                             const placement::RewardConfig& reward) {
  const Pod* known = state_.pod(pod.uid);
  const Node* runs = known != nullptr ? state_.node(known->node) : nullptr;
  const auto row = runs != nullptr ? std::optional(runs->row) : std::nullopt;
  pod.node_name.clear();
  const placement::PodSpec spec = core_.engine().expected(std::move(pod));
  const NetworkChoice::InUse in_use = core_.networks().in_use();
  const models::QNetwork* network = reward.preset == core_.spec().reward.preset ? in_use.network.get() : nullptr;
  std::mt19937_64 random(core_.figures().decisions);
  placement::PlacementDecision advice = core_.engine().what_if({.view = state_.view(spec, clock_.mono()),
                                                                .pod = spec,
                                                                .candidates = std::move(candidates),
                                                                .network = network,
                                                                .turn = core_.figures().decisions,
                                                                .random = random},
                                                               reward, row);
  wire::Decision decision = std::move(advice.record);
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(spec);
  return entry;
}

void Asks::drop_outdated() {
  if (edition_ == core_.edition()) return;
  edition_ = core_.edition();
  repeats_.clear();
}

void Asks::expire(MonoTime now) {
  repeats_.expire(core_.config().repeat_within, now);
  deferrals_.expire(now);
}

void Asks::recall(const wire::Decision& decision) {
  if (decision.defer_until_ns <= 0) return;
  const Duration left = Duration(decision.defer_until_ns) - clock_.wall().time_since_epoch();
  deferrals_.recall(decision.pod_uid, clock_.mono() + std::clamp(left, -Deferrals::kRemember, Deferrals::kLongest));
}

}  // namespace wattle::controller
