#include "provision/student/integral_rule.hpp"

#include <algorithm>

namespace wattle::actuator {

double next_margin(const IntegralRules& rules, double margin_ratio, const MinuteOfRequests& minute) {
  if (minute.count == 0) return margin_ratio;
  const double share = static_cast<double>(std::min(minute.over, minute.count)) / static_cast<double>(minute.count);
  const double step = std::clamp(rules.gain * (share - rules.aim_ratio), -rules.most_step, rules.most_step);
  return std::clamp(margin_ratio + step, rules.least_margin, rules.most_margin);
}

}  // namespace wattle::actuator
