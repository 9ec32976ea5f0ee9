#include "controller/modes/saving.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::controller {

namespace {

constexpr double kLeastSeen = 0.9;
constexpr double kLeastWatched = 0.95;
constexpr double kLeastCores = 0.1;
constexpr double kHour_s = 3600;

struct ArmSums {
  double n = 0, sum = 0, squares = 0;
  void add(double value) {
    n += 1;
    sum += value;
    squares += value * value;
  }
  double mean() const { return sum / n; }
  double variance() const { return std::max(0.0, (squares - sum * sum / n) / (n - 1)); }
};

}  // namespace

bool BlockResult::usable(double measured_s) const {
  return seen_s >= kLeastSeen * measured_s && node_s > 0 && watched_node_s >= kLeastWatched * node_s && energy_j > 0 &&
         core_h * kHour_s >= kLeastCores * seen_s;
}

std::optional<BlockResult> BlockMeter::add(const Block& block, const ClusterNow& now, Duration passed) {
  std::optional<BlockResult> over;
  if (begun_ && block.number != open_.number) over = open_;
  if (!begun_ || over) {
    open_ = {};
    open_.number = block.number;
    open_.treated = block.treated;
    begun_ = true;
  }
  if (!block.measured) return over;
  const double passed_s = std::max(0.0, seconds(passed));
  open_.seen_s += passed_s;
  open_.energy_j += now.power_w * passed_s;
  open_.core_h += now.requested_cores * passed_s / kHour_s;
  open_.node_s += static_cast<double>(now.nodes) * passed_s;
  open_.watched_node_s += static_cast<double>(now.watched) * passed_s;
  return over;
}

double student_975(double freedom) {
  constexpr double z = 1.959963985;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double f = std::max(3.0, freedom);
  return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f) +
         (79 * z7 * z * z + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * f * f * f * f);
}

Saving measured_saving(std::span<const BlockResult> blocks, double measured_s) {
  Saving saving;
  ArmSums treated, control;
  for (const BlockResult& block : blocks) {
    if (!block.usable(measured_s)) {
      ++saving.dropped;
      continue;
    }
    (block.treated ? treated : control).add(std::log(block.j_per_core_h()));
    ++(block.treated ? saving.treated : saving.control);
  }
  if (saving.treated > 0) saving.treated_j_per_core_h = std::exp(treated.mean());
  if (saving.control > 0) saving.control_j_per_core_h = std::exp(control.mean());
  if (saving.treated < kLeastBlocks || saving.control < kLeastBlocks) return saving;
  const double difference = treated.mean() - control.mean();
  const double a = treated.variance() / treated.n, b = control.variance() / control.n;
  const double sd = std::sqrt(a + b);
  const double freedom =
      sd > 0 ? (a + b) * (a + b) / (a * a / (treated.n - 1) + b * b / (control.n - 1)) : treated.n + control.n - 2;
  const double reach = student_975(freedom) * sd;
  saving.ratio = 1 - std::exp(difference);
  saving.low = 1 - std::exp(difference + reach);
  saving.high = 1 - std::exp(difference - reach);
  return saving;
}

}  // namespace wattle::controller
