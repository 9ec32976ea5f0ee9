#include "lab/contestants/captain.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "common/stats/moments.hpp"
#include "lab/contestants/contestants.hpp"

namespace wattle::sim::provision {

double Captain::throttled_ratio() const {
  double sum = 0;
  for (const double each : throttled_) sum += each;
  return sum / static_cast<double>(throttled_.size());
}

double Captain::tick(double throttled, double usage_cores) {
  throttled_[ticks_ % throttled_.size()] = throttled;
  usage_cores_[ticks_ % usage_cores_.size()] = usage_cores;
  ++ticks_;
  if (const double ratio = throttled_ratio(); lowered_ && ratio > 3 * target_) {
    limit_ = 2 * last_limit_ - limit_;
    margin_ += ratio - target_;
    throttled_.fill(0);
    lowered_ = false;
  }
  if (ticks_ % 10 != 0) return limit_;
  last_limit_ = limit_;
  lowered_ = false;
  const double ratio = throttled_ratio();
  margin_ = std::max(0.0, margin_ + ratio - target_);
  if (ratio > 3 * target_) {
    limit_ *= 1 + ratio - 3 * target_;
  } else {
    stats::Moments usage;
    for (const double each : usage_cores_) usage.add(each);
    const double enough = *std::max_element(usage_cores_.begin(), usage_cores_.end()) + usage.deviation() * margin_;
    if (enough <= 0.9 * limit_) {
      limit_ = std::max(0.5 * limit_, enough);
      lowered_ = true;
    }
  }
  throttled_.fill(0);
  limit_ = std::max(0.01, limit_);
  return limit_;
}

namespace {

class Captains : public Provisioner {
 public:
  Captains(const WorldOptions& world, double target) : captains_(world.services, Captain(target, world.first_cores)) {}
  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    for (std::size_t i = 0; i < captains_.size(); ++i) {
      const ServiceReading& service = reading.services[i];
      const double cores =
          captains_[i].tick(static_cast<double>(service.throttled_periods), service.used_s / reading.elapsed_s);
      const actuator::CpuLimit limit = plain_limit(std::min(cores, reading.cores));
      if (limit != service.set) next[i] = limit;
    }
  }

 protected:
  void set_target(double target) {
    for (Captain& captain : captains_) captain.set_target(target);
  }

 private:
  std::vector<Captain> captains_;
};

// Costs of a minute by the rate of the previous one and the chosen target, as means in a table; the published one fits
// a network to the same data. One group of services, where the published one has two.
class Tower {
 public:
  static constexpr std::array kTargets{0.0, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3};
  void learn(double rate_rps, std::size_t target, double cost) { costs_[bin(rate_rps)][target].add(cost); }
  std::size_t best(double rate_rps) const {
    const auto found = costs_.find(bin(rate_rps));
    std::size_t best = 0;
    double least = 1e9;
    for (std::size_t i = 0; i < kTargets.size(); ++i) {
      if (found == costs_.end() || found->second[i].count() == 0) continue;
      if (found->second[i].mean() < least) {
        least = found->second[i].mean();
        best = i;
      }
    }
    return best;
  }

 private:
  static int bin(double rate_rps) { return static_cast<int>(std::log(rate_rps + 1) / std::log(1.2)); }
  std::map<int, std::array<stats::Moments, kTargets.size()>> costs_;
};

class TowerAndCaptains final : public Captains {
 public:
  TowerAndCaptains(const WorldOptions& world, std::shared_ptr<Tower> tower, double explore, std::uint64_t seed)
      : Captains(world, 0), tower_(std::move(tower)), explore_(explore), random_(mix(seed, 0x746f776572ULL)) {}

  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    if (const MinuteReading* minute = reading.minute) {
      const double late = minute->p99_s / reading.target_s;
      const double most = reading.cores * static_cast<double>(reading.services.size());
      if (rate_rps_ > 0 && explore_ > 0)
        tower_->learn(rate_rps_, target_, late <= 1 ? minute->granted_cores / most : 1 + std::min(late, 10.0));
      rate_rps_ = minute->rate_rps;
      target_ = uniform(random_) < explore_ ? pick(random_, Tower::kTargets.size()) : tower_->best(rate_rps_);
      set_target(Tower::kTargets[target_]);
    }
    Captains::tick(reading, next);
  }

 private:
  std::shared_ptr<Tower> tower_;
  double explore_, rate_rps_ = 0;
  std::size_t target_ = 0;
  Random random_;
};

}  // namespace

Maker prepare_captain(const WorldOptions& world, double target) {
  return [world, target](std::uint64_t) { return std::make_unique<Captains>(world, target); };
}

Maker prepare_tower(const WorldOptions& world, double hours) {
  const auto tower = std::make_shared<Tower>();
  // Follows the publication: half of the time at random, then as learned with half of the minutes explored; judged
  // without exploration.
  for (int hour = 0; hour < static_cast<int>(hours); ++hour) {
    WorldOptions learning = world;
    learning.seed = learning_seed(hour);
    TowerAndCaptains explorer(learning, tower, 2 * hour < static_cast<int>(hours) ? 1.0 : 0.5, learning.seed);
    (void)play(World(learning), explorer);
  }
  return [world, tower](std::uint64_t seed) { return std::make_unique<TowerAndCaptains>(world, tower, 0.0, seed); };
}

}  // namespace wattle::sim::provision
