// marginal_power: estimates the power of one more core in use on this node: the recent slope of power over cores in
// use.
// Source   energy and cores in use of each tick's record; least squares with decaying weights (an hour: 1/e)
// Absent   for the first ten minutes, and if usage has varied too little: the slope's standard error exceeds a quarter
//          of it. Restarts if the energy source changes
// Units    watts per core
// Errors   none: ticks without energy, or with only a lower bound of it, are skipped
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
  double cores_squares_ = 0, w_squares_ = 0, products_ = 0;  // weighted, around the means
};

}  // namespace wattle::agent
