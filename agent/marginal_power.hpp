// marginal_power: what one more core in use draws on this node, as it was seen of late: the slope of power over cores in use.
// Source   energy and cores in use of each tick's record; least squares, an older tick weighs less (an hour: 1/e)
// Absent   before ten minutes, and where use has not varied enough to tell: the slope's standard error is above a quarter of it. After
//          another source of energy took over it begins anew
// Units    watts per core
// Errors   none: ticks without energy, or with a lower bound of it, are passed over
// Threads  single owner
#pragma once

#include <optional>

#include "common/sample.hpp"

namespace wattle::agent {

class MarginalPower {
 public:
  void add(const Record& record);
  std::optional<double> core_w() const;

 private:
  EnergySource source_ = EnergySource::none;
  double weight_ = 0, weight_squares_ = 0;  // seconds
  double mean_cores_ = 0, mean_w_ = 0;
  double cores_squares_ = 0, w_squares_ = 0, products_ = 0;  // weighted, about the means
};

}  // namespace wattle::agent
