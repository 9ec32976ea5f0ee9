#include "provision/student/student_trial.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::actuator {

namespace {
constexpr double kStake = 0.25;  // share of the largest stake that cannot lose everything in one minute
constexpr double kMemoryMinutes = 60;
}  // namespace

StudentTrial::StudentTrial(double most_ratio)
    : most_ratio_(std::clamp(most_ratio, 1e-6, 1.0)), capital_(0, std::log(kRunMinutes)) {}

bool StudentTrial::add(double throttled_ratio) {
  if (out_ || !(throttled_ratio >= 0 && throttled_ratio <= 1)) return false;
  ++minutes_;
  mean_ratio_ += std::max(1 / static_cast<double>(minutes_), 1 / kMemoryMinutes) * (throttled_ratio - mean_ratio_);
  out_ = capital_.add(std::log1p(kStake * (throttled_ratio - most_ratio_) / most_ratio_));
  return out_;
}

}  // namespace wattle::actuator
