#include "controller/provision/margin_teacher.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "provision/minute/lesson.hpp"
#include "provision/student/integral_rule.hpp"

namespace wattle::controller {

namespace {

namespace choice = models::provision;

constexpr Duration kForget = std::chrono::minutes(10);
constexpr Duration kStepHolds = std::chrono::seconds(75);  // the next minute is reported by then
constexpr double kMinute = 60, kDay = 86'400;
constexpr double kExplored = 0.05;  // share of the teacher's minutes in mode canary
constexpr std::size_t kUp = choice::action_of(choice::Lever::cpu, 1), kDown = choice::action_of(choice::Lever::cpu, -1),
                      kMemoryUp = choice::action_of(choice::Lever::memory, 1),
                      kMemoryDown = choice::action_of(choice::Lever::memory, -1),
                      kReplicasUp = choice::action_of(choice::Lever::replicas, 1),
                      kReplicasDown = choice::action_of(choice::Lever::replicas, -1);
constexpr double kBytesPerGib = 1 << 30;
constexpr std::uint64_t kTicksPerMinute = 600;  // of a node

// Returns the rule's choice as an action.
std::size_t action_of_rule(double margin, double rule_margin) {
  constexpr double kSame = 1e-6;
  if (rule_margin > margin + kSame) return kUp;
  return rule_margin < margin - kSame ? kDown : choice::kKeep;
}

// Returns the action at the end of the minute before: a later change of the replicas, or what the node applied. No
// value if it is none of the nine.
std::optional<std::size_t> action_done(const SteeredService& before, bool steered, std::size_t replicas) {
  const std::size_t was = before.replicas.now;
  if (replicas == was) return steered ? before.applied : before.rule_action;
  if (replicas == was + 1) return kReplicasUp;
  return replicas + 1 == was ? std::optional(kReplicasDown) : std::nullopt;
}

// Returns true if both values are set and differ: something else has moved the limit.
bool moved_otherwise(const std::optional<double>& expected, const std::optional<double>& seen) {
  constexpr double kSame = 1e-6;
  return expected && seen && std::abs(*expected - *seen) > kSame;
}

// Fills request figures that the node does not measure from `traffic`.
void complete(SteeredService& service, const Traffic& traffic) {
  LimitMinute& minute = service.minute;
  const bool knows = minute.requests.has_value(), late = traffic.rate_rps && traffic.late_ratio;
  service.rate_by = knows ? ReportedBy::node : traffic.rate_rps ? ReportedBy::prometheus : ReportedBy::none;
  service.latency_by = knows ? ReportedBy::node : late ? ReportedBy::prometheus : ReportedBy::none;
  if (knows)
    service.rate_rps = static_cast<double>(*minute.requests) / kMinute;
  else
    service.rate_rps = traffic.rate_rps;
  if (!minute.p99_over_target) minute.p99_over_target = traffic.p99_over_target;
  if (knows || !late) return;
  const double requests = std::round(*traffic.rate_rps * kMinute);
  minute.requests = static_cast<std::uint64_t>(requests);
  minute.requests_over = static_cast<std::uint64_t>(std::round(requests * *traffic.late_ratio));
}

}  // namespace

std::string_view to_string(ReportedBy whom) {
  constexpr std::string_view kNames[] = {"none", "node", "prometheus"};
  return kNames[static_cast<std::size_t>(whom)];
}

std::string_view action_word(std::size_t action) {
  constexpr std::string_view kWords[choice::kActions] = {"replicas_down", "keep", "replicas_up", "down", "keep", "up",
                                                         "memory_down",   "keep", "memory_up"};
  return action < choice::kActions ? kWords[action] : "keep";
}

MarginTeacher::MarginTeacher(TeacherMode mode, std::uint64_t seed, MarginLearner* learner, const Clock& clock,
                             choice::TeacherReward reward)
    : learner_(learner),
      clock_(clock),
      reward_(reward),
      trial_(learner == nullptr ? std::min(mode, TeacherMode::shadow) : mode, seed),
      release_(learner == nullptr ? std::min(mode, TeacherMode::shadow) : mode, seed),
      random_(seed) {
  if (learner_ == nullptr || !learner_->kept()) return;
  trial_.restore(*learner_->kept());
  if (learner_->kept_release()) release_.restore(*learner_->kept_release());
  keep_states();
}

void MarginTeacher::keep_states() { learner_->keep(trial_.saved(), release_.saved()); }

std::optional<MarginLearnerFigures> MarginTeacher::learned() const {
  return learner_ == nullptr ? std::nullopt : std::optional(learner_->figures());
}

void MarginTeacher::forget_old(MonoTime now) {
  for (auto at = services_.begin(); at != services_.end();) {
    if (now - at->second.last_message < kForget) {
      ++at;
      continue;
    }
    const std::string key = at->first.first + "/" + at->first.second;
    trial_.restart(key);
    release_.forget(key);
    if (learner_ != nullptr) learner_->post({key, true, 0, {}, 0});
    chains_.erase(at->first);
    at = services_.erase(at);
  }
}

void MarginTeacher::minute(const std::string& node, double node_cores, const LimitMinute& ended, const Traffic& traffic,
                           const ReplicaPlace& replicas) {
  if (trial_.mode() == TeacherMode::off) return;
  const MonoTime now = clock_.mono();
  const std::pair name(node, ended.name);
  if (!services_.contains(name)) {
    forget_old(now);
    if (services_.size() >= kMostSteeredServices) {
      ++beyond_;
      return;
    }
  }
  SteeredService& service = services_[name];
  if (service.minutes > 0 && service.minute.number == ended.number) return;  // a repeated report
  const bool follows = service.minutes > 0 && service.known && service.minute.number + 1 == ended.number;
  const auto done = action_done(service, ended.steered, replicas.now);
  service.minute = ended;
  service.replicas = replicas;
  complete(service, traffic);
  service.last_message = now;
  ++service.minutes;
  Chain& chain = chains_[name];
  decide(node + "/" + ended.name, chain, service, node_cores, follows, done);
}

// A withdrawal starts the training of the next student.
void MarginTeacher::follow_release(stats::NetworkState before) {
  if (learner_ == nullptr || release_.state() == before) return;
  if (release_.state() == stats::NetworkState::withdrawn) learner_->retrain();
  keep_states();
}

void MarginTeacher::learn_student(const std::string& key, const choice::LocalView& own,
                                  const models::Observation& whole, const models::QNetwork* network) {
  if (learner_->student()) return;
  const bool network_serves = trial_.test().in_use() && !trial_.rolled_back();
  learner_->post({key, false, 0, {}, 0, choice::lesson(own.observation, whole, network_serves ? network : nullptr)});
}

// Returns whether this is the student's turn, and sets its choice if the next minute is its own.
bool MarginTeacher::students_turn(const std::string& key, SteeredService& service, const choice::LocalView& own,
                                  const TrialMinute& lived) {
  const auto student = learner_->student();
  const stats::NetworkState before = release_.state();
  if (student) release_.offer(student->version);
  const std::optional<bool> turn = release_.next(key, lived);
  follow_release(before);
  if (!turn) return false;
  trial_.restart(key);
  service.guarded = release_.trial().guarded(key);
  if (!*turn || !student || student->version != release_.version()) return true;
  const auto chosen =
      choice::choose_locally(own.state, own.state.rule_margin_ratio, own.bounds, student->network.get());
  if (!chosen) return true;
  service.student_next = true;
  service.action = service.applied = choice::best_action(own.observation, student->network.get());
  service.wanted_margin = chosen->margin_ratio;
  service.wanted_memory.reset();
  return true;
}

void MarginTeacher::decide(const std::string& key, Chain& chain, SteeredService& service, double node_cores,
                           bool follows, std::optional<std::size_t> done) {
  const LimitMinute& ended = service.minute;
  service.known = ended.requests.has_value();
  if (!follows || !service.known) {
    chain.state.reset();
    trial_.restart(key);
    if (learner_ != nullptr) learner_->post({key, true, 0, {}, 0});
  } else if (!done || (chain.state && chain.state->valid[*done] == 0) ||
             moved_otherwise(chain.memory_next, ended.memory_margin_ratio)) {
    // The change matches no action: several replicas at once, replicas by an autoscaler, or a memory margin that
    // was reset to the rule's at a handover. The trial continues.
    chain.state.reset();
    if (learner_ != nullptr) learner_->post({key, true, 0, {}, 0});
  }
  chain.memory_next = service.wanted_memory = ended.memory_margin_ratio;
  service.guarded = false;
  service.teacher_next = service.student_next = service.explored = false;
  const double wall_s = static_cast<double>(to_ns(clock_.wall())) / 1e9;
  choice::ServiceMinute state;
  state.throttled_ratio = ended.throttled_ratio;
  state.used_over_granted = ended.granted_cores > 0 ? ended.used_cores / ended.granted_cores : 1;
  state.used_over_node = node_cores > 0 ? ended.used_cores / node_cores : 0;
  state.deviation_ratio = ended.deviation_ratio;
  state.peak_ratio = ended.peak_ratio;
  state.used_over_last = chain.last_used > 0 ? ended.used_cores / chain.last_used : 1;
  state.now.margin_ratio = ended.margin_ratio;
  state.now.replicas = service.replicas.now;
  state.now.memory_ratio = ended.memory_margin_ratio.value_or(choice::kRuleMemory);
  state.missed_ratio = ended.memory_short_ratio;
  state.working_over_peak = ended.memory_used_over_peak;
  state.rule_margin_ratio = ended.rule_margin_ratio;
  state.day_ratio = std::fmod(wall_s, kDay) / kDay;
  chain.last_used = ended.used_cores;
  service.rule_action = action_of_rule(ended.margin_ratio, ended.rule_margin_ratio);
  service.action = service.applied = service.rule_action;
  service.wanted_margin = ended.rule_margin_ratio;
  service.gain = service.cost = service.waste = 0;
  if (service.rate_rps) chain.forecast.add(*service.rate_rps, wall_s);
  service.expected = service.rate_rps ? chain.forecast.next() : std::nullopt;
  service.forecast = chain.forecast.score();
  if (!service.known) {
    const stats::NetworkState before = release_.state();
    release_.report(key, ended.student_out);
    follow_release(before);
    return;
  }

  const double rate = *service.rate_rps;
  std::optional<double> memory_gib;
  if (ended.memory_granted_bytes) memory_gib = static_cast<double>(*ended.memory_granted_bytes) / kBytesPerGib;
  const auto costed = chain.costs.add({ended.used_cores * kMinute, ended.used_cores, ended.granted_cores, memory_gib,
                                       *ended.requests, *ended.requests_over, rate, ended.p99_over_target.value_or(1)},
                                      {}, state);
  service.cost = costed.cost;
  service.waste = costed.cost - costed.need;
  if (service.expected)
    state.rate = choice::rate_of(rate, chain.last_rps, service.expected->rate_rps, service.expected->high_rps);
  chain.last_rps = rate;

  const choice::Bounds bounds =
      choice::bounds_of(ended.memory_margin_ratio.has_value(), service.replicas.now, service.replicas.wanted);
  models::Observation seen = choice::observe(state, bounds);
  const auto network = learner_ != nullptr ? learner_->network() : nullptr;
  std::array<float, choice::kActions> said{};
  if (network) network->residual(seen, said);
  service.action = choice::best_action(seen, network.get());
  service.applied = choice::best_on_a_node(seen, network.get());
  const auto q = [&](std::size_t action) { return static_cast<double>(said[action] + seen.prior[action]); };
  if (seen.valid[service.rule_action] == 0) service.rule_action = choice::kKeep;
  service.gain = std::max(0.0, q(service.action) - q(service.rule_action));
  service.agreed += service.applied == service.rule_action;

  const double over =
      *ended.requests > 0 ? static_cast<double>(*ended.requests_over) / static_cast<double>(*ended.requests) : 0;
  const TrialMinute lived{service.waste, over};
  const bool before = trial_.rolled_back();
  bool students = false;
  if (learner_ != nullptr) {
    const double throttled = std::round(state.throttled_ratio * static_cast<double>(kTicksPerMinute));
    actuator::IntegralRules by_throttling;
    by_throttling.aim_ratio = actuator::kThrottledAim;
    const choice::LocalView own = choice::view_on_a_node(
        state, actuator::next_margin(by_throttling, ended.margin_ratio,
                                     {kTicksPerMinute, static_cast<std::uint64_t>(std::max(throttled, 0.0))}));
    learn_student(key, own, seen, network.get());
    students = students_turn(key, service, own, lived);
  }
  // Before the first network the teacher equals the rule on rungs, so there is nothing to compare.
  if (!students && (network || trial_.mode() == TeacherMode::shadow)) service.teacher_next = trial_.next(key, lived);
  if (service.teacher_next && trial_.mode() == TeacherMode::canary && stats::uniform(random_) < kExplored) {
    // Excludes replicas, because an exploratory suggestion would mislead its reader.
    constexpr std::array kAny{kDown, choice::kKeep, kUp, kMemoryDown, kMemoryUp};
    const std::size_t drawn = kAny[stats::pick(random_, kAny.size())];
    if (seen.valid[drawn] != 0) service.action = service.applied = drawn;
    service.explored = true;
  }
  if (!students) {
    service.guarded = trial_.guarded(key);
    const choice::Setting wanted = choice::after(service.applied, state, bounds);
    service.wanted_margin = wanted.margin_ratio;
    if (ended.memory_margin_ratio) service.wanted_memory = wanted.memory_ratio;
  }
  // The rule uses one fixed margin for memory.
  if (ended.memory_margin_ratio)
    chain.memory_next = acts() && service.teacher_next ? service.wanted_memory : state.now.memory_ratio;
  if (learner_ == nullptr) return;
  if (chain.state)
    learner_->post({key, false, chain.reward, std::move(*chain.state), static_cast<std::uint32_t>(*done)});
  chain.state = std::move(seen);
  chain.reward = reward_ == choice::TeacherReward::drpc
                     ? choice::drpc_reward(state, ended.memory_margin_ratio.has_value())
                     : -service.waste;
  if (trial_.rolled_back() != before || service.minutes % 10 == 0) keep_states();
}

std::map<std::string, TeacherReplicas> MarginTeacher::replicas() const {
  std::map<std::string, TeacherReplicas> all;
  const MonoTime now = clock_.mono();
  for (const auto& [name, service] : services_) {
    if (!service.known || !service.replicas.wanted || now - service.last_message >= kStepHolds) continue;
    TeacherReplicas& sum = all[service.replicas.workload];
    ++sum.pods;
    sum.now = service.replicas.now;
    sum.more += service.action == kReplicasUp;
    sum.fewer += service.action == kReplicasDown;
  }
  return all;
}

std::map<std::string, wire::MarginStep> MarginTeacher::margins(const std::string& node) const {
  std::map<std::string, wire::MarginStep> reported;
  const MonoTime now = clock_.mono();
  for (auto at = services_.lower_bound({node, ""}); at != services_.end() && at->first.first == node; ++at)
    if (((at->second.teacher_next && acts()) || at->second.student_next) && now - at->second.last_message < kStepHolds)
      reported[at->first.second] = {at->second.minute.number, at->second.wanted_margin, at->second.wanted_memory};
  return reported;
}

std::shared_ptr<const Student> MarginTeacher::student(const std::string& node) const {
  if (release_.state() != stats::NetworkState::in_use) return nullptr;
  const auto service = services_.lower_bound({node, ""});
  if (service == services_.end() || service->first.first != node) return nullptr;
  const auto student = learner_->student();
  return student && student->version == release_.version() ? student : nullptr;
}

}  // namespace wattle::controller
