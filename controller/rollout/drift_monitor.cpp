#include "controller/rollout/drift_monitor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattle::controller {
namespace {

constexpr double kExploresTimes = 3, kMostEpsilon = 0.2;
constexpr double kCurveMemory_s = 600, kShiftedNodes = 0.05;

}  // namespace

std::optional<std::string> DriftMonitor::begin(const char* why, MonoTime now) {
  if (active(now)) return std::nullopt;
  ++shifts_;
  until_ = now + kLasts;
  return why;
}

std::optional<std::string> DriftMonitor::error(double reward_less_predicted, MonoTime now) {
  if (std::isfinite(reward_less_predicted)) block_.add(reward_less_predicted);
  if (block_.count() < kBlock) return std::nullopt;
  const double mean = std::exchange(block_, {}).mean();
  if (!errors_.add(mean)) return std::nullopt;
  return begin("the difference between rewards and predictions has changed", now);
}

// A curve refits itself after a change. If many do at once, what was learned on them is wrong, too.
std::optional<std::string> DriftMonitor::curves(std::uint64_t begun_anew, std::size_t nodes, double passed_s,
                                                MonoTime now) {
  recent_curves_ *= std::exp(-passed_s / kCurveMemory_s);
  if (begun_anew > curves_begun_anew_) recent_curves_ += static_cast<double>(begun_anew - curves_begun_anew_);
  curves_begun_anew_ = begun_anew;
  if (recent_curves_ < std::max(1.0, kShiftedNodes * static_cast<double>(nodes))) return std::nullopt;
  recent_curves_ = 0;
  return begin("the power curves of several nodes have changed", now);
}

double DriftMonitor::epsilon(double usual, MonoTime now) const {
  return active(now) ? std::max(usual, std::min(kMostEpsilon, kExploresTimes * usual)) : usual;
}

DriftMonitor::State DriftMonitor::state(MonoTime now) const {
  return {errors_.state(), active(now) ? seconds(*until_ - now) : 0, shifts_};
}

bool DriftMonitor::restore(const State& state, MonoTime now) {
  if (!(state.left_s >= 0 && state.left_s <= seconds(kLasts)) || !errors_.restore(state.errors)) return false;
  until_.reset();
  if (state.left_s > 0) until_ = now + from_seconds(state.left_s);
  shifts_ = state.shifts;
  return true;
}

}  // namespace wattle::controller
