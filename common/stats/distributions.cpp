#include "common/stats/distributions.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::stats {

double normal_quantile(double p) {
  // Starts from a logistic approximation.
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

double student_quantile_975(double freedom) {
  const double z = kNormal975;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double f = std::max(3.0, freedom);
  return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f) +
         (79 * z7 * z * z + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * f * f * f * f);
}

}  // namespace wattle::stats
