#include "actuator/workload_margin.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

void WorkloadMargin::restart(double margin_ratio) {
  now_ = {margin_ratio, models::provision::kRuleMemory};
  memory_limited_ = false;
  start_.reset();
  reported_.reset();
}

void WorkloadMargin::on_new_student(stats::NetworkTrial trial) {
  trial_ = trial;
  by_student_ = false;
}

void WorkloadMargin::order(std::optional<actuation::Requests> requests, std::optional<actuation::MarginStep> step) {
  requests_ = requests;
  step_ = step;
}

void WorkloadMargin::add_tick(const models::provision::CopyTick& tick, double elapsed_s) {
  watch_.add(tick);
  watch_.end_tick(elapsed_s);
}

void WorkloadMargin::add_memory(const MemoryUse& use, std::optional<std::int64_t> high_bytes, bool hurt) {
  looks_.add(use, high_bytes, hurt);
  memory_limited_ = high_bytes.has_value();
  if (!high_bytes) now_.memory = models::provision::kRuleMemory;  // initial value for the next limit
}

void WorkloadMargin::stop() {
  start_.reset();
  reported_.reset();
  steered_ = held_ = by_student_ = false;
  now_.memory = models::provision::kRuleMemory;
}

void WorkloadMargin::move(const Readings& now, MarginStudent& student, std::vector<Error>& troubles, MonoTime at) {
  if (start_ && at - start_->at < kMinute) return take_step(at);
  if (start_) {
    end_minute(now, student, troubles);
  } else {
    watch_ = {};
    looks_ = {};
  }
  start_ = Start{now.use, requests_, at};
}

// Computes the rule's next margin, and the figures of the minute for the controller.
void WorkloadMargin::end_minute(const Readings& now, MarginStudent& student, std::vector<Error>& troubles) {
  actuation::Minute reported;
  const MinuteOfRequests ticks{watch_.ticks(), watch_.throttled()};
  reported.used_cores = watch_.used_cores();
  reported.granted_cores = watch_.granted_cores();
  models::provision::Setting setting;
  setting.margin_ratio = now_.cpu;
  const auto state = watch_.end_minute(setting, now.node_cores);
  if (by_student_ && !steered_) try_student(now.path, state.throttled_ratio, student.throttled_ratio(), troubles);
  const auto chosen = trial_.in_use() ? student.choose(now.path, state, ticks, troubles) : std::nullopt;
  auto minute = between(start_->requests, requests_);
  if (minute) reported.requests = actuation::Requests{minute->count, minute->over};
  IntegralRules rules;
  if (!minute) {
    const std::uint64_t count = now.use.periods - start_->use.periods;
    minute = MinuteOfRequests{count, std::min(count, now.use.throttled - start_->use.throttled)};
    rules.aim_ratio = student.aim_ratio();
    if (chosen) minute.reset();
  }
  const bool students = !minute;
  rule_margin_ = minute ? next_margin(rules, now_.cpu, *minute) : *chosen;
  ended_with_ = now_;
  reported.number = ++minutes_;
  reported.steered = steered_;
  reported.margin_ratio = ended_with_.cpu;
  reported.rule_margin_ratio = rule_margin_;
  reported.throttled_ratio = state.throttled_ratio;
  reported.deviation_ratio = state.deviation_ratio;
  reported.peak_ratio = state.peak_ratio;
  reported.memory = looks_.end_minute(now.used_over_peak);
  if (reported.memory && memory_limited_) reported.memory->margin_ratio = now_.memory;
  reported.student_out = !trial_.in_use();
  reported_ = reported;
  // Waits for a step only if the rule would not grant more.
  held_ = steered_ && rule_margin_ <= ended_with_.cpu;
  steered_ = false;
  if (!held_) now_.cpu = rule_margin_;
  by_student_ = students && !held_;
}

// Adds a minute in which the student set the margin.
void WorkloadMargin::try_student(const std::string& path, double throttled_ratio, double most_ratio,
                                 std::vector<Error>& troubles) {
  if (!trial_.in_use() || !trial_.add(throttled_difference(throttled_ratio, most_ratio))) return;
  const double mean_ratio = most_ratio + trial_.mean() * throttled_unit(most_ratio);
  const auto percent = [](double ratio) { return std::to_string(std::lround(100 * ratio)) + "%"; };
  troubles.push_back({Errc::out_of_range, "rules.student",
                      "allowed throttling of " + path + " in " + percent(mean_ratio) +
                          " of the periods of the last hour, above the limit of " + percent(most_ratio) +
                          " in the long run; throttling now sets its margin",
                      "train another student (wattle-sim teach)"});
}

void WorkloadMargin::take_step(MonoTime at) {
  const bool over = at - start_->at >= kSilence;
  if (over) reported_.reset();
  // The controller no longer steers.
  if ((over && std::exchange(held_, false)) || (!step_ && std::exchange(steered_, false))) now_.cpu = rule_margin_;
  if (over && !steered_) now_.memory = models::provision::kRuleMemory;
  if (steered_ || !reported_ || !step_ || step_->minute != minutes_) return;
  held_ = false;
  steered_ = true;
  now_.cpu = models::provision::within_a_rung(step_->margin_ratio, ended_with_.cpu, rule_margin_, {});
  now_.memory = models::provision::kRuleMemory;
  if (memory_limited_ && step_->memory_ratio)
    now_.memory = models::provision::memory_within_a_rung(*step_->memory_ratio, ended_with_.memory,
                                                          models::provision::bounds_of(true, 1, std::nullopt));
}

}  // namespace wattle::actuator
