#include "actuator/throttled_wait.hpp"

#include <algorithm>

namespace wattle::actuator {

double throttled_wait_s(double throttled_s, double used_s, double elapsed_s) {
  if (!(throttled_s > 0) || !(elapsed_s > 0)) return 0;
  const double cpus = (throttled_s + std::max(used_s, 0.0)) / elapsed_s;
  return throttled_s / std::max(cpus, 1.0);
}

}  // namespace wattle::actuator
