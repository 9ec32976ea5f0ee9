// How the margin of a workload moves, once a minute: by requests that were late, by a student, by throttling.
#include <algorithm>

#include "actuator/governor.hpp"

namespace wattle::actuator {

namespace {
constexpr Duration kMinute = std::chrono::minutes(1);

// Absent: the source began anew in between, or one of the two is not known.
std::optional<MinuteOfRequests> between(const std::optional<actuation::Requests>& from,
                                        const std::optional<actuation::Requests>& to) {
  if (!from || !to || to->count < from->count || to->over < from->over) return std::nullopt;
  const std::uint64_t count = to->count - from->count;
  return MinuteOfRequests{count, std::min(count, to->over - from->over)};
}
}  // namespace

void Governor::steer_by(models::provision::Network student) {
  student_ = std::move(student);
  told_not_finite_ = false;
}

std::optional<double> Governor::margin_ratio(const std::string& path) const {
  const auto found = workloads_.find(path);
  return found == workloads_.end() ? std::nullopt : std::optional(found->second->margin_ratio);
}

// The same decision as sim/provision/steered makes for the same readings.
std::optional<double> Governor::by_student(Workload& workload) {
  const MinuteOfRequests ticks{workload.watch.ticks(), workload.watch.throttled()};
  models::provision::Setting now;
  now.margin_ratio = workload.margin_ratio;
  const auto state = workload.watch.end_minute(now, load_.cores());
  if (!student_) return std::nullopt;
  IntegralRules rules;
  rules.aim_ratio = rules_.throttled_aim_ratio;
  models::provision::Bounds bounds;
  bounds.memory = false;
  const auto next =
      models::provision::choose_locally(state, next_margin(rules, now.margin_ratio, ticks), bounds, student_.get());
  if (next) return next->margin_ratio;
  if (!told_not_finite_)
    troubles_.push_back({Errc::out_of_range, "rules.student", "says what is no number of " + workload.path,
                         "teach another; throttling moves the margin meanwhile"});
  told_not_finite_ = true;
  return std::nullopt;
}

// Without limits of ours neither latency nor throttling says anything of the margin.
void Governor::move_margin(Workload& workload, MonoTime now) {
  if (workload.grant.state != actuation::State::set) {
    workload.minute.reset();
    return;
  }
  if (workload.minute && now - workload.minute_at < kMinute) return;
  if (workload.minute) {
    IntegralRules rules;
    const auto student = by_student(workload);
    auto minute = between(workload.minute_requests, workload.requests);
    if (!minute) {
      const std::uint64_t count = workload.use->periods - workload.minute->periods;
      minute = MinuteOfRequests{count, std::min(count, workload.use->throttled - workload.minute->throttled)};
      rules.aim_ratio = rules_.throttled_aim_ratio;
      if (student) minute.reset();
    }
    workload.margin_ratio = minute ? next_margin(rules, workload.margin_ratio, *minute) : *student;
  } else {
    workload.watch = {};
  }
  workload.minute = workload.use;
  workload.minute_requests = workload.requests;
  workload.minute_at = now;
}

}  // namespace wattle::actuator
