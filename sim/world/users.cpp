#include "sim/world/users.hpp"

#include <algorithm>
#include <cassert>

namespace wattle::sim {

double RequestOptions::rate(std::size_t slot) const {
  return per_s.empty() ? 0 : per_s[std::min(slot, per_s.size() - 1)];
}

Queue queue_of(double rate_per_s, double service_s, std::size_t room) {
  assert(room >= 1 && service_s > 0);
  const double load = rate_per_s * service_s;
  if (load <= 0) return {0, service_s};
  // State n has the weight load^n. Sums from the heavier end, so that neither a small nor a large load overflows.
  const bool light = load <= 1;
  const double step = light ? load : 1 / load;
  double weight = 1, sum = 0, held = 0, last = 0;
  for (std::size_t i = 0; i <= room; ++i) {
    const std::size_t n = light ? i : room - i;
    sum += weight;
    held += weight * static_cast<double>(n);
    if (n == room) last = weight;
    weight *= step;
  }
  const double failed = last / sum;
  return {failed, held / sum / (rate_per_s * (1 - failed))};
}

}  // namespace wattle::sim
