#include "controller/modes/guard.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::controller {

double normal_quantile(double p) {
  // Newton's method on the distribution function, from a logistic guess.
  double x = std::log(p / (1 - p)) / 1.702;
  for (int i = 0; i < 50; ++i) {
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
    const double step = std::clamp(error / std::max(density, 1e-12), -0.5, 0.5);
    x -= step;
    if (std::abs(step) < 1e-10) break;
  }
  return x;
}

void Guard::control(double reward) {
  if (!std::isfinite(reward)) return;
  controls_.push_back(reward);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), reward), reward);
  if (controls_.size() <= options_.most) return;
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), controls_.front()));
  controls_.pop_front();
}

bool Guard::acting(double reward) {
  if (!ready()) return false;
  const double finite = std::isfinite(reward) ? reward : -INFINITY;
  const auto low = std::lower_bound(sorted_.begin(), sorted_.end(), finite) - sorted_.begin();
  const auto high = std::upper_bound(sorted_.begin(), sorted_.end(), finite) - sorted_.begin();
  const double rank = static_cast<double>(low + high) / 2 + 0.5;
  const double score = normal_quantile(rank / (static_cast<double>(sorted_.size()) + 1));
  ++judged_;
  level_ = std::max(0.0, level_ - score - options_.slack);
  return level_ > options_.limit;
}

bool Guard::nonsense(double residual) const {
  return !std::isfinite(residual) || std::abs(residual) > options_.max_abs_q;
}

void Guard::begin_anew(bool forget_control) {
  level_ = 0;
  judged_ = 0;
  if (!forget_control) return;
  controls_.clear();
  sorted_.clear();
}

}  // namespace wattle::controller
