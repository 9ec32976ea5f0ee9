#include "controller/rollout/canary_measurement.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {

constexpr Duration kLongestGap = std::chrono::seconds(10);  // the state during a longer gap is unknown

}  // namespace

void CanaryMeasurement::restart() {
  blocks_.clear();
  meter_ = {};
}

std::optional<BlockResult> CanaryMeasurement::watch(const RolloutSpec& spec, const ClusterNow& now, MonoTime at,
                                                    WallTime wall) {
  const Duration passed = watched_ ? at - *watched_ : Duration{0};
  watched_ = at;
  if (spec.mode.mode != Mode::canary) return std::nullopt;
  auto over = meter_.add(block_at(spec.schedule, wall), now, std::min(passed, kLongestGap));
  if (over) blocks_.push_back(*over);
  return over;
}

EffectEstimate CanaryMeasurement::effect(const SwitchbackSchedule& schedule) const {
  return estimate_effect(blocks_, seconds(schedule.length - schedule.washout));
}

}  // namespace wattle::controller
