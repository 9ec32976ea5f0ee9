#include "sim/provision/limit_env.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::sim::provision {
namespace {

constexpr double kLeastCores = 0.05;
constexpr double kWarmS = 60;
constexpr int kTicksPerStep = 10;

}  // namespace

double LimitEnv::level_cores(std::uint64_t level) const {
  const double share = static_cast<double>(level) / static_cast<double>(kLevels - 1);
  return kLeastCores * std::pow(options_.world.cores / kLeastCores, share);
}

std::uint64_t LimitEnv::actions() const {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < options_.world.services; ++i) count *= kLevels;
  return count;
}

// Total cost of the episode so far; rewards are its negated differences.
double LimitEnv::cost() const {
  const Figures truth = world_->figures();
  const double all_cores = options_.world.cores * static_cast<double>(options_.world.services);
  return truth.granted_cores / all_cores * std::max(now_s_ - kWarmS, 0.0) +
         options_.over_price * static_cast<double>(truth.minutes_over);
}

LimitStep LimitEnv::reset(std::uint64_t seed) {
  WorldOptions world = options_.world;
  world.trace = options_.traces[seed % options_.traces.size()];
  world.seed = seed;
  world.warm_s = kWarmS;
  world.first_cores = world.cores;
  world_.emplace(std::move(world));
  minute_ = {};
  forecast_ = placement::RateForecast();
  now_s_ = cost_ = 0;
  LimitStep step;
  while (now_s_ < kWarmS && !world_->done()) pass(step);
  cost_ = cost();
  return step;
}

// Advances by a second and collects a node's readings.
void LimitEnv::pass(LimitStep& step) {
  step.services.assign(options_.world.services, {});
  double elapsed_s = 0;
  int ticks = 0;
  for (; ticks < kTicksPerStep && !world_->done(); ++ticks) {
    const Reading reading = world_->advance();
    now_s_ = reading.now_s;
    elapsed_s += reading.elapsed_s;
    if (reading.minute != nullptr) {
      minute_ = *reading.minute;
      forecast_.add(minute_.rate_rps, now_s_);
    }
    for (std::size_t i = 0; i < step.services.size(); ++i) {
      const ServiceReading& seen = reading.services[i];
      step.services[i].used_cores += seen.used_s;
      step.services[i].throttled_ratio += seen.throttled_periods > 0 ? 1 : 0;
      step.services[i].limit_cores = seen.set ? seen.set->cores() : options_.world.cores;
    }
  }
  for (ServiceView& service : step.services) {
    service.used_cores /= std::max(elapsed_s, kPeriodS);
    service.throttled_ratio /= std::max(ticks, 1);
  }
  step.now_s = std::max(now_s_ - kWarmS, 0.0);
  step.over_ratio = minute_.count > 0 ? static_cast<double>(minute_.over) / static_cast<double>(minute_.count) : 0;
  step.p99_s = minute_.p99_s;
  step.rate_rps = minute_.rate_rps;
  step.expected = forecast_.next().value_or(placement::ExpectedRate());
  step.done = world_->done();
  if (step.done) step.services.clear();
}

Result<LimitStep> LimitEnv::step(std::uint64_t action) {
  if (!world_ || world_->done()) return fail(Errc::conflict, "step", "the episode is over", "call reset first");
  if (action >= actions())
    return fail(Errc::out_of_range, "action " + std::to_string(action),
                "there are " + std::to_string(actions()) + " actions");
  for (std::size_t i = 0; i < options_.world.services; ++i, action /= kLevels) {
    actuator::CpuLimit limit = plain_limit(level_cores(action % kLevels));
    limit.burst_us = limit.quota_us;
    WATTLE_CHECK(world_->write(i, limit));
  }
  LimitStep out;
  pass(out);
  const double before = cost_;
  cost_ = cost();
  out.reward = before - cost_;
  return out;
}

}  // namespace wattle::sim::provision
