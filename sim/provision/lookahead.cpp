#include "sim/provision/lookahead.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wattle::sim::provision {

namespace {

namespace choice = models::provision;

constexpr std::uint64_t kFutureStream = 0x66757475ULL;
constexpr double kManyRequests = 1e6;  // turns a share into a whole number

// The integral rule from the current margin, down to the lowest setting.
choice::Setting hold(const MinuteOfService& seen) {
  actuator::IntegralRules rule;
  rule.least_margin = seen.bounds.least_margin;
  rule.most_margin = seen.bounds.most_margin;
  choice::Setting next = seen.state.now;
  if (!seen.state.latency) return next;
  const auto over = static_cast<std::uint64_t>(std::llround(kManyRequests * seen.state.latency->over_ratio));
  next.margin_ratio = actuator::next_margin(rule, next.margin_ratio, {static_cast<std::uint64_t>(kManyRequests), over});
  return next;
}

// Takes one action of one service at its first minute, and sums the cost of the following minutes.
class Trial final : public Steering {
 public:
  Trial(std::size_t services, double minute_price) : began_(services), minute_price_(minute_price) {}
  void begin(std::size_t service, std::size_t action) {
    service_ = service;
    action_ = action;
    std::fill(began_.begin(), began_.end(), false);
    cost_ = minutes_ = 0;
  }
  choice::Setting minute(std::size_t service, const MinuteOfService& seen) override {
    if (!began_[service]) {
      began_[service] = true;
      return service == service_ ? choice::after(action_, seen.state, seen.bounds) : hold(seen);
    }
    const bool over = seen.state.latency && seen.state.latency->over_ratio > kShareOver;
    cost_ += seen.cost + (over ? minute_price_ : 0);
    if (service == 0) minutes_ += 1;
    return hold(seen);
  }
  std::optional<double> cost() const { return minutes_ > 0 ? std::optional(cost_ / minutes_) : std::nullopt; }
  double minutes() const { return minutes_; }

 private:
  std::vector<bool> began_;
  double minute_price_;
  std::size_t service_ = 0, action_ = 0;
  double cost_ = 0, minutes_ = 0;
};

// Records each minute, and continues with the decided actions.
class Decided final : public Steering {
 public:
  explicit Decided(std::size_t services) : seen(services), next(services) {}
  choice::Setting minute(std::size_t service, const MinuteOfService& now) override {
    seen[service] = now;
    return next[service] ? choice::after(*next[service], now.state, now.bounds) : now.state.now;
  }
  std::vector<std::optional<MinuteOfService>> seen;
  std::vector<std::optional<std::size_t>> next;
};

class Ahead {
 public:
  Ahead(const WorldOptions& world, const SteerOptions& steer, const LookaheadOptions& options)
      : options_(options),
        seed_(world.seed),
        decided_(world.services),
        trial_(world.services, options.minute_price),
        main_{World(world), Steered(world, steer, decided_)},
        next_(world.services * world.most_replicas) {}

  Result<Figures> play(const Choose& choose) {
    const std::size_t services = main_.world.options().services;
    while (!main_.world.done()) {
      if (main_.world.ends_minute()) {
        // The minute as it will end: no choice affects its last tick.
        Running look = main_;
        std::fill(decided_.next.begin(), decided_.next.end(), std::nullopt);
        WATTLE_CHECK(look.tick(next_));
        const auto seen = decided_.seen;
        ++minute_;
        for (std::size_t i = 0; i < services; ++i) {
          if (!seen[i]) continue;
          WATTLE_TRY(const ActionCosts costs, costs_of(i, *seen[i]));
          decided_.next[i] = choose(i, *seen[i], costs);
        }
      }
      WATTLE_CHECK(main_.tick(next_));
    }
    return main_.world.figures();
  }

 private:
  Result<ActionCosts> costs_of(std::size_t service, const MinuteOfService& seen) {
    ActionCosts costs;
    const std::size_t futures = std::max<std::size_t>(options_.futures, 1);
    for (std::size_t future = 0; future < futures; ++future)
      for (std::size_t action = 0; action < choice::kActions; ++action) {
        if (!choice::valid(action, seen.state.now, seen.bounds)) continue;
        Running copy = main_;
        copy.services.steer_by(trial_);
        trial_.begin(service, action);
        WATTLE_CHECK(copy.tick(next_));
        if (options_.futures > 0) copy.world.redraw(mix(mix(seed_, kFutureStream + future), minute_));
        while (!copy.world.done() && trial_.minutes() < static_cast<double>(options_.minutes))
          WATTLE_CHECK(copy.tick(next_));
        if (const auto cost = trial_.cost())
          costs[action] = costs[action].value_or(0) + *cost / static_cast<double>(futures);
      }
    return costs;
  }

  LookaheadOptions options_;
  std::uint64_t seed_;
  Decided decided_;
  Trial trial_;
  Running main_;
  std::vector<std::optional<actuator::CpuLimit>> next_;
  std::uint64_t minute_ = 0;
};

}  // namespace

Status Running::tick(std::vector<std::optional<actuator::CpuLimit>>& next) {
  const Reading reading = world.advance();
  std::fill(next.begin(), next.end(), std::nullopt);
  services.tick(reading, next);
  for (std::size_t i = 0; i < next.size(); ++i)
    if (next[i]) WATTLE_CHECK(world.write(i, *next[i]));
  const auto shapes = services.shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) world.shape(i, shapes[i]);
  return {};
}

Result<Figures> play_looking_ahead(const WorldOptions& world, const SteerOptions& steer,
                                   const LookaheadOptions& options, const Choose& choose) {
  return Ahead(world, steer, options).play(choose);
}

std::size_t cheapest(const ActionCosts& costs) {
  std::size_t best = choice::kKeep;
  for (std::size_t i = 0; i < choice::kActions; ++i)
    if (costs[i] && (!costs[best] || *costs[i] < *costs[best])) best = i;
  return best;
}

}  // namespace wattle::sim::provision
