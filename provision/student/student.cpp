#include "provision/student/student.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::actuator {
namespace {

constexpr double kMostPressure = 0.1;
constexpr std::int64_t kQuotaStepUs = 100;    // finer steps are noise
constexpr std::int64_t kLeastQuotaUs = 1000;  // minimum of the kernel

std::int64_t quota_us(double cores) {
  const double steps = std::ceil(cores * static_cast<double>(kPeriodUs) / static_cast<double>(kQuotaStepUs) - 1e-9);
  return std::max(kLeastQuotaUs, static_cast<std::int64_t>(steps) * kQuotaStepUs);
}

StudentRules made_sane(StudentRules rules) {
  rules.window_s = std::clamp<std::size_t>(rules.window_s, 1, kMostWindow);
  rules.burst_ratio = std::clamp(rules.burst_ratio, 0.0, 1.0);
  rules.boost_decay = std::clamp(rules.boost_decay, 0.0, 1.0);
  rules.boost_growth = std::max(rules.boost_growth, 1.0);
  rules.most_cores = std::max(rules.most_cores, rules.least_cores);
  return rules;
}

}  // namespace

Student::Student(const StudentRules& rules) : rules_(made_sane(rules)) {}

std::optional<double> Student::mean_usage_cores() const {
  const std::size_t count = std::min(seen_, rules_.window_s);
  if (count == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += usage_cores_[i];
  return sum / static_cast<double>(count);
}

std::optional<Wish> Student::observe(const StudentReading& reading, double margin_ratio) {
  const bool sane = reading.elapsed_s > 0 && reading.used_s >= 0 && std::isfinite(reading.elapsed_s + reading.used_s);
  if (sane) {
    second_s_ += reading.elapsed_s;
    second_used_s_ += reading.used_s;
    // Ticks are slightly early or late: a second ends when less than half a tick of it is left.
    if (second_s_ >= 0.95) {
      usage_cores_[next_] = second_used_s_ / second_s_;
      next_ = (next_ + 1) % rules_.window_s;
      seen_ = std::min(seen_ + 1, rules_.window_s);
      second_s_ = second_used_s_ = 0;
    }
  }
  const std::optional<double> usage = mean_usage_cores();
  if (!usage) return std::nullopt;
  const double base = std::clamp(*usage * (1 + std::max(margin_ratio, -0.9)), rules_.least_cores, rules_.most_cores);
  if (sane && reading.throttled)
    boost_cores_ = std::max(boost_cores_ * rules_.boost_growth, base * rules_.first_boost_ratio);
  else if (sane)
    boost_cores_ *= rules_.boost_decay;
  boost_cores_ = std::min({boost_cores_, base * rules_.most_boost_ratio, rules_.most_cores - base});
  if (boost_cores_ < base * rules_.up_step_ratio) boost_cores_ = 0;
  return Wish{base, boost_cores_};
}

std::optional<CpuLimit> Student::decide(const Wish& allowed, const std::optional<CpuLimit>& set) const {
  const double cores = std::min(allowed.base_cores + allowed.boost_cores, rules_.most_cores);
  if (set && set->quota_us > 0 && set->burst_us <= set->quota_us) {
    const double now = set->cores();
    if (cores <= now * (1 + rules_.up_step_ratio) && cores >= now * (1 - rules_.down_step_ratio)) return std::nullopt;
  }
  CpuLimit next{quota_us(cores), 0};
  const auto wanted_us =
      static_cast<std::int64_t>(rules_.burst_ratio * static_cast<double>(quota_us(allowed.base_cores)));
  // A new burst costs another write, so the current one stays while it is allowed and close enough.
  const bool near =
      set && set->burst_us <= next.quota_us && 2 * set->burst_us >= wanted_us && set->burst_us <= 2 * wanted_us;
  next.burst_us = std::min(near ? set->burst_us : wanted_us, next.quota_us);
  if (set == next) return std::nullopt;
  return next;
}

void bound_boosts(std::span<Wish> wishes, double headroom_cores) {
  double sum = 0;
  for (const Wish& wish : wishes) sum += wish.boost_cores;
  const double bound = std::max(headroom_cores, 0.0);
  if (sum <= bound) return;
  for (Wish& wish : wishes) wish.boost_cores *= bound / sum;
}

double headroom_cores(double node_cores, double idle_ratio, double pressure_ratio) {
  const double eased = 1 - std::clamp(pressure_ratio / kMostPressure, 0.0, 1.0);
  return std::max(node_cores, 0.0) * std::clamp(idle_ratio, 0.0, 1.0) * eased;
}

}  // namespace wattle::actuator
