// margin_student: the network that moves margins in place of the throttling rule, while it is valid.
// Units    in names
// Errors   a margin that is not finite is reported once per network, and the rule applies
// Threads  single owner
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/stats/network_trial.hpp"
#include "provision/minute/minute.hpp"
#include "provision/minute/student_file.hpp"
#include "provision/student/integral_rule.hpp"
#include "provision/student/student_trial.hpp"

namespace wattle::actuator {

class MarginStudent {
 public:
  // `aim_ratio`: share of throttled periods at which its rule aims. `throttled_ratio`: share allowed in the long run.
  MarginStudent(double aim_ratio, double throttled_ratio) : aim_ratio_(aim_ratio), throttled_ratio_(throttled_ratio) {}

  // Null removes it.
  void set(models::provision::Network network);
  double aim_ratio() const { return aim_ratio_; }
  double throttled_ratio() const { return throttled_ratio_; }
  // The trial of a new student with one workload.
  stats::NetworkTrial new_trial() const { return student_trial(throttled_ratio_); }
  // Returns the next margin of the workload with that path. No value: no student, or an invalid margin.
  std::optional<double> choose(const std::string& path, const models::provision::ServiceMinute& state,
                               const MinuteOfRequests& ticks, std::vector<Error>& troubles);

 private:
  double aim_ratio_, throttled_ratio_;
  models::provision::Network network_;
  bool reported_not_finite_ = false;
};

}  // namespace wattle::actuator
