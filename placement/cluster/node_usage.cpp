#include "placement/cluster/node_usage.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattle::placement {

namespace {
constexpr double kUseMemory_s = 300;
constexpr double kSpreadMemory_s = 1800;
constexpr double kMostSpread = 25;
}  // namespace

void NodeUsage::add(const NodeView& node, KnownNode& known, double passed_s) {
  const auto used_cores = node.values.cpu_used_cores;
  if (!used_cores || !std::isfinite(*used_cores)) return;
  const double share = 1 - std::exp(-passed_s / kUseMemory_s);
  OtherUse& other = known.other;
  const double staying_cores = *used_cores - known.sums.leaving_cores;
  const double other_cores = std::max(0.0, staying_cores - known.sums.last_cores);
  const double apart = other_cores - other.cores;
  other.cores2 = other.sampled ? (1 - share) * (other.cores2 + share * apart * apart) : 0.0;
  other.cores += (other.sampled ? share : 1.0) * (other_cores - other.cores);
  other.sampled = true;
  const double from_expected = staying_cores - known.sums.cores - other.cores;
  strayed_ += from_expected * from_expected;
  foreseen_ += std::max(0.0, known.sums.cores2) + other.cores2;
}

void NodeUsage::end_round(double passed_s) {
  const double faded = 1 - std::exp(-passed_s / kSpreadMemory_s);
  strayed_cores2_ += faded * (std::exchange(strayed_, 0) - strayed_cores2_);
  foreseen_cores2_ += faded * (std::exchange(foreseen_, 0) - foreseen_cores2_);
}

double NodeUsage::spread() const {
  if (!(foreseen_cores2_ > 0) || !std::isfinite(strayed_cores2_)) return 1;
  return std::clamp(strayed_cores2_ / foreseen_cores2_, 1.0, kMostSpread);
}

}  // namespace wattle::placement
