#include "controller/rollout/regression_monitor.hpp"

#include <algorithm>
#include <cmath>

#include "common/stats/distributions.hpp"

namespace wattle::controller {

void RegressionMonitor::control(double reward) {
  if (!std::isfinite(reward)) return;
  controls_.push_back(reward);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), reward), reward);
  if (controls_.size() <= options_.most) return;
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), controls_.front()));
  controls_.pop_front();
}

bool RegressionMonitor::acting(double reward) {
  if (!ready()) return false;
  const double finite = std::isfinite(reward) ? reward : -INFINITY;
  const auto low = std::lower_bound(sorted_.begin(), sorted_.end(), finite) - sorted_.begin();
  const auto high = std::upper_bound(sorted_.begin(), sorted_.end(), finite) - sorted_.begin();
  const double rank = static_cast<double>(low + high) / 2 + 0.5;
  const double score = stats::normal_quantile(rank / (static_cast<double>(sorted_.size()) + 1));
  ++judged_;
  return cusum_.add(-score);
}

bool RegressionMonitor::restore(const State& state) {
  const bool finite =
      std::all_of(state.control.begin(), state.control.end(), [](double v) { return std::isfinite(v); });
  if (!finite || state.control.size() > options_.most || !(state.level >= 0 && state.level <= options_.limit))
    return false;
  restart(true);
  for (const double reward : state.control) control(reward);
  cusum_ = {options_.slack, options_.limit, state.level};
  judged_ = state.judged;
  return true;
}

void RegressionMonitor::restart(bool forget_control) {
  cusum_.restart();
  judged_ = 0;
  if (!forget_control) return;
  controls_.clear();
  sorted_.clear();
}

}  // namespace wattle::controller
