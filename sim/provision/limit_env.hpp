// limit_env: the world as a Gym-like environment: each second the caller chooses the CPU limit of every service.
//
//   reset(seed)  -> the first observation, after one minute at the highest level
//   step(action) -> sets a level for each service and advances by one second
//
// Action   one digit of base kLevels per service, the first service's lowest: level_cores(digit) is its limit, with an
//          equally large burst. Unchanged limits are not written, because each write refills
// Reward   minus the mean share of its cores that a service was granted, minus over_price for each minute over target.
//          The sum over an episode equals that of its figures, so a minute that is no longer over returns its price
// Units    seconds, cores, requests/s
// Errors   step: out_of_range for an invalid action (without any effect), conflict before reset and after the end
// Threads  single owner; the same options, seed and actions give the same bytes
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "provision/requests/rate_forecast.hpp"
#include "sim/provision/world.hpp"

namespace wattle::sim::provision {

inline constexpr std::uint64_t kLevels = 32;

struct LimitEnvOptions {
  std::vector<std::shared_ptr<const RateTrace>> traces;  // one per episode, chosen by the seed
  WorldOptions world;                                    // trace, seed, warm_s and first_cores are set by reset
  double over_price = 60;                                // price of a minute over target, in seconds with all cores
};

struct ServiceView {
  double used_cores = 0, throttled_ratio = 0;  // of the second, and of its periods
  double limit_cores = 0;
};

struct LimitStep {
  bool done = false;
  double reward = 0;
  double now_s = 0;                   // since the start of the evaluation
  std::vector<ServiceView> services;  // empty when done
  // Over the last complete minute; zeros before the first.
  double over_ratio = 0, p99_s = 0, rate_rps = 0;
  placement::ExpectedRate expected;  // for the current minute; zeros if unknown
};

class LimitEnv {
 public:
  explicit LimitEnv(LimitEnvOptions options) : options_(std::move(options)) {}
  LimitStep reset(std::uint64_t seed);
  Result<LimitStep> step(std::uint64_t action);
  // The truth until now; requires reset.
  Figures figures() const { return world_->figures(); }
  const LimitEnvOptions& options() const { return options_; }
  // Levels go from 0.05 to all cores, in equal ratios.
  double level_cores(std::uint64_t level) const;
  std::uint64_t actions() const;

 private:
  void pass(LimitStep& step);
  double cost() const;

  LimitEnvOptions options_;
  std::optional<World> world_;
  MinuteReading minute_;
  placement::RateForecast forecast_;
  double now_s_ = 0, cost_ = 0;
};

}  // namespace wattle::sim::provision
