// Moves a workload's CPU margin every minute, by late requests, a student or throttling; and its memory margin.
#include <algorithm>
#include <cmath>
#include <utility>

#include "actuator/governor.hpp"
#include "provision/student/student_trial.hpp"

namespace wattle::actuator {

namespace {
constexpr Duration kMinute = std::chrono::minutes(1);

// No value if the counters were reset in between, or one of the two is unknown.
std::optional<MinuteOfRequests> between(const std::optional<actuation::Requests>& from,
                                        const std::optional<actuation::Requests>& to) {
  if (!from || !to || to->count < from->count || to->over < from->over) return std::nullopt;
  const std::uint64_t count = to->count - from->count;
  return MinuteOfRequests{count, std::min(count, to->over - from->over)};
}
}  // namespace

void Governor::steer_by(models::provision::Network student) {
  student_ = std::move(student);
  reported_not_finite_ = false;
  for (auto& [path, workload] : workloads_) {
    workload->trial = student_trial(rules_.student_throttled_ratio);
    workload->by_student = false;
  }
}

std::size_t Governor::student_out() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(workloads_, [](const auto& entry) { return !entry.second->trial.in_use(); }));
}

// Adds a minute in which the student set the margin.
void Governor::try_student(Workload& workload, double throttled_ratio) {
  const double most = rules_.student_throttled_ratio;
  if (!workload.trial.in_use() || !workload.trial.add(throttled_difference(throttled_ratio, most))) return;
  const double mean_ratio = most + workload.trial.mean() * throttled_unit(most);
  const auto percent = [](double ratio) { return std::to_string(std::lround(100 * ratio)) + "%"; };
  troubles_.push_back({Errc::out_of_range, "rules.student",
                       "allowed throttling of " + workload.path + " in " + percent(mean_ratio) +
                           " of the periods of the last hour, above the limit of " + percent(most) +
                           " in the long run; throttling now sets its margin",
                       "train another student (wattle-sim teach)"});
}

std::optional<double> Governor::margin_ratio(const std::string& path) const {
  const auto found = workloads_.find(path);
  return found == workloads_.end() ? std::nullopt : std::optional(found->second->margin_ratio);
}

// Must decide like sim/provision/steered for the same readings.
std::optional<double> Governor::by_student(const Workload& workload, const models::provision::ServiceMinute& state,
                                           const MinuteOfRequests& ticks) {
  if (!student_ || !workload.trial.in_use()) return std::nullopt;
  IntegralRules rules;
  rules.aim_ratio = rules_.throttled_aim_ratio;
  models::provision::Bounds bounds;
  bounds.memory = false;
  const auto next = models::provision::choose_locally(state, next_margin(rules, state.now.margin_ratio, ticks), bounds,
                                                      student_.get());
  if (next) return next->margin_ratio;
  if (!reported_not_finite_)
    troubles_.push_back({Errc::out_of_range, "rules.student", "returned an invalid margin for " + workload.path,
                         "train another student; throttling sets the margin meanwhile"});
  reported_not_finite_ = true;
  return std::nullopt;
}

// Computes the rule's next margin, and reports the minute to the controller.
void Governor::end_minute(Workload& workload, MonoTime now) {
  actuation::Minute reported;
  const MinuteOfRequests ticks{workload.watch.ticks(), workload.watch.throttled()};
  reported.used_cores = workload.watch.used_cores();
  reported.granted_cores = workload.watch.granted_cores();
  models::provision::Setting setting;
  setting.margin_ratio = workload.margin_ratio;
  const auto state = workload.watch.end_minute(setting, load_.cores());
  if (workload.by_student && !workload.steered) try_student(workload, state.throttled_ratio);
  const auto student = by_student(workload, state, ticks);
  auto minute = between(workload.minute_requests, workload.requests);
  if (minute) reported.requests = actuation::Requests{minute->count, minute->over};
  IntegralRules rules;
  if (!minute) {
    const std::uint64_t count = workload.use->periods - workload.minute->periods;
    minute = MinuteOfRequests{count, std::min(count, workload.use->throttled - workload.minute->throttled)};
    rules.aim_ratio = rules_.throttled_aim_ratio;
    if (student) minute.reset();
  }
  const bool students = !minute;
  workload.rule_margin = minute ? next_margin(rules, workload.margin_ratio, *minute) : *student;
  workload.minute_margin = workload.margin_ratio;
  reported.number = ++workload.minutes;
  reported.steered = workload.steered;
  reported.margin_ratio = workload.minute_margin;
  reported.rule_margin_ratio = workload.rule_margin;
  reported.throttled_ratio = state.throttled_ratio;
  reported.deviation_ratio = state.deviation_ratio;
  reported.peak_ratio = state.peak_ratio;
  reported.memory = workload.looks.end_minute(workload.memory.used_over_peak());
  if (reported.memory && workload.memory_limited) reported.memory->margin_ratio = workload.memory_ratio;
  reported.student_out = !workload.trial.in_use();
  workload.minute_memory = workload.memory_ratio;
  workload.grant.minute = reported;
  // Waits for a step only if the rule would not give more.
  workload.held = workload.steered && workload.rule_margin <= workload.minute_margin;
  workload.steered = false;
  if (!workload.held) workload.margin_ratio = workload.rule_margin;
  workload.by_student = students && !workload.held;
  workload.minute_at = now;
}

void Governor::take_step(Workload& workload, MonoTime now) {
  const bool over = now - workload.minute_at >= kSilence;
  if (over) workload.grant.minute.reset();
  // The controller no longer steers.
  if ((over && std::exchange(workload.held, false)) || (!workload.step && std::exchange(workload.steered, false)))
    workload.margin_ratio = workload.rule_margin;
  if (over && !workload.steered) workload.memory_ratio = models::provision::kRuleMemory;
  if (workload.steered || !workload.grant.minute || !workload.step || workload.step->minute != workload.minutes) return;
  workload.held = false;
  workload.steered = true;
  workload.margin_ratio =
      models::provision::within_a_rung(workload.step->margin_ratio, workload.minute_margin, workload.rule_margin, {});
  workload.memory_ratio = models::provision::kRuleMemory;
  if (workload.memory_limited && workload.step->memory_ratio)
    workload.memory_ratio = models::provision::memory_within_a_rung(
        *workload.step->memory_ratio, workload.minute_memory, models::provision::bounds_of(true, 1, std::nullopt));
}

// Runs only while our limits are in force: otherwise latency and throttling do not depend on the margin.
void Governor::move_margin(Workload& workload, MonoTime now) {
  if (workload.grant.state != actuation::State::set) {
    workload.minute.reset();
    workload.grant.minute.reset();
    workload.steered = workload.held = workload.by_student = false;
    workload.memory_ratio = models::provision::kRuleMemory;
    return;
  }
  if (workload.minute && now - workload.minute_at < kMinute) {
    take_step(workload, now);
    return;
  }
  if (workload.minute) {
    end_minute(workload, now);
  } else {
    workload.watch = {};
    workload.looks = {};
    workload.minute_at = now;
  }
  workload.minute = workload.use;
  workload.minute_requests = workload.requests;
}

}  // namespace wattle::actuator
