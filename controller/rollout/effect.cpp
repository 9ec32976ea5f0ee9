#include "controller/rollout/effect.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/stats/welch.hpp"

namespace wattle::controller {

namespace {

constexpr double kLeastSeen = 0.9;
constexpr double kLeastWatched = 0.95;
constexpr double kLeastCores = 0.1;
constexpr double kBlockHour_s = 3600;

}  // namespace

bool BlockResult::usable(double measured_s) const {
  return seen_s >= kLeastSeen * measured_s && node_s > 0 && watched_node_s >= kLeastWatched * node_s && energy_j > 0 &&
         core_h * kBlockHour_s >= kLeastCores * seen_s;
}

bool BlockResult::modelled(double measured_s) const {
  return modelled_s >= kLeastSeen * measured_s && modelled_j > 0 && modelled_acting_j > 0;
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
  const auto compared = std::exchange(compared_, now.compared);
  if (!block.measured) return over;
  if (!block.treated && compared && now.compared && now.compared->seconds >= compared->seconds) {
    open_.modelled_s += now.compared->seconds - compared->seconds;
    open_.modelled_j += now.compared->now_j - compared->now_j;
    open_.modelled_acting_j += now.compared->advised_j - compared->advised_j;
  }
  const double passed_s = std::max(0.0, seconds(passed));
  open_.seen_s += passed_s;
  open_.energy_j += now.power_w * passed_s;
  open_.core_h += now.requested_cores * passed_s / kBlockHour_s;
  open_.node_s += static_cast<double>(now.nodes) * passed_s;
  open_.watched_node_s += static_cast<double>(now.watched) * passed_s;
  return over;
}

EffectEstimate estimate_effect(std::span<const BlockResult> blocks, double measured_s) {
  EffectEstimate effect;
  stats::Moments treated, control;
  for (const BlockResult& block : blocks) {
    if (!block.usable(measured_s)) {
      ++effect.unused;
      continue;
    }
    (block.treated ? treated : control).add(std::log(block.j_per_core_h()));
    ++(block.treated ? effect.treated : effect.control);
  }
  if (effect.treated > 0) effect.treated_j_per_core_h = std::exp(treated.mean());
  if (effect.control > 0) effect.control_j_per_core_h = std::exp(control.mean());
  if (effect.treated < kLeastBlocks || effect.control < kLeastBlocks) return effect;
  const auto difference = stats::welch_difference(treated, control);
  effect.ratio = 1 - std::exp(difference->mean);
  effect.low = 1 - std::exp(difference->high);
  effect.high = 1 - std::exp(difference->low);
  return effect;
}

}  // namespace wattle::controller
