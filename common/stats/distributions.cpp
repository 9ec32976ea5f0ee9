#include "common/stats/distributions.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace wattle::stats {

double normal_quantile(double p) { return boost::math::quantile(boost::math::normal_distribution<double>(), p); }

double student_quantile_975(double freedom) {
  return boost::math::quantile(boost::math::students_t_distribution<double>(std::max(3.0, freedom)), 0.975);
}

}  // namespace wattle::stats
