#include "common/stats/welch.hpp"

#include <cmath>

#include "common/stats/distributions.hpp"

namespace wattle::stats {

double welch_freedom(const Moments& a, const Moments& b) {
  const double of_a = a.variance_of_mean(), of_b = b.variance_of_mean(), both = of_a + of_b;
  const auto more_a = static_cast<double>(a.count() - 1), more_b = static_cast<double>(b.count() - 1);
  return both > 0 ? both * both / (of_a * of_a / more_a + of_b * of_b / more_b) : more_a + more_b;
}

std::optional<Interval> welch_difference(const Moments& a, const Moments& b) {
  if (a.count() < 2 || b.count() < 2) return std::nullopt;
  const double difference = a.mean() - b.mean();
  const double error = std::sqrt(a.variance_of_mean() + b.variance_of_mean());
  const double reach = student_quantile_975(welch_freedom(a, b)) * error;
  return Interval{difference, difference - reach, difference + reach};
}

}  // namespace wattle::stats
