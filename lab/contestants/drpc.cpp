// drpc: DRPC's nine actions and its reward, each minute, learned as a table.
// Source   Bai et al., DRPC: replicas, CPU and memory, each down, kept or up; reward Rqos / Rutil with Rqos = 1 while
//          p99 is within the target, else exp(-((p99 - target) / target)^2), Rutil = 1 + mean |use - 0.75| of CPU and
//          memory
// Omits    defects of the publication: a CPU action without effect, memory that is never reduced, one change of one
//          deployment per minute, steps that return no result. The reward is as published: it is near 0 at four times
//          the target, so that it gives no gradient out of overload
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "common/stats/moments.hpp"
#include "lab/contestants/contestants.hpp"
#include "provision/minute/drpc_reward.hpp"

namespace wattle::sim::provision {
namespace {

constexpr std::size_t kActions = 9, kLate = 6, kUse = 12, kStates = kLate * kUse;
constexpr double kStep = 1.1, kMemoryUsed = 0.5, kDiscount = 0.9;
constexpr int kHours = 40;

// Results of each action in each state, and the values computed from them. A table needs far fewer hours this way than
// by temporal differences, and converges to the same values.
class Values {
 public:
  void learn(std::size_t state, std::size_t action, std::size_t next, double reward) {
    Tried& tried = tried_[state * kActions + action];
    tried.reward.add(reward);
    ++tried.next[next];
  }
  void plan() {
    for (int sweep = 0; sweep < 200; ++sweep)
      for (std::size_t i = 0; i < tried_.size(); ++i) {
        const auto count = static_cast<double>(tried_[i].reward.count());
        double ahead = 0;
        for (const auto& [next, times] : tried_[i].next) ahead += times / count * worth(next);
        if (count > 0) of_[i] = tried_[i].reward.mean() + kDiscount * ahead;
      }
  }
  std::size_t best(std::size_t state) const {
    const auto from = of_.begin() + static_cast<std::ptrdiff_t>(state * kActions);
    return static_cast<std::size_t>(std::max_element(from, from + kActions) - from);
  }

 private:
  struct Tried {
    stats::Moments reward;
    std::map<std::size_t, double> next;
  };
  double worth(std::size_t state) const { return of_[state * kActions + best(state)]; }

  std::array<Tried, kStates * kActions> tried_{};
  std::array<double, kStates * kActions> of_{};
};

std::size_t state(double late, double cpu_use) {
  constexpr std::array kEdges{0.5, 0.8, 1.0, 1.5, 3.0};
  const auto bin = static_cast<std::size_t>(std::upper_bound(kEdges.begin(), kEdges.end(), late) - kEdges.begin());
  return bin * kUse + std::min(static_cast<std::size_t>(cpu_use * 10), kUse - 1);
}

class Drpc final : public Provisioner {
 public:
  Drpc(const WorldOptions& world, std::shared_ptr<Values> values, double explore, std::uint64_t seed,
       double target_share)
      : values_(std::move(values)),
        explore_(explore),
        target_share_(target_share),
        random_(mix(seed, 0x64727063ULL)),
        shapes_(world.services) {
    // Learning begins at a random size, so that small ones are seen.
    const double first = explore > 0 ? world.first_cores * std::exp2(-3 * uniform(random_)) : world.first_cores;
    for (Shape& shape : shapes_) shape.cores = first / shape.replicas;
  }

  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    for (std::size_t i = 0; i < shapes_.size(); ++i) shapes_[i].used_s += reading.services[i].used_s;
    if (reading.minute == nullptr) return;
    const double late = reading.minute->p99_s / (reading.target_s * target_share_);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      Shape& shape = shapes_[i];
      const double use = shape.used_s / 60 / (shape.replicas * shape.cores);
      shape.used_s = 0;
      const std::size_t now = state(late, use);
      if (shape.moves++ > 0 && explore_ > 0)
        values_->learn(shape.state, shape.action, now,
                       models::provision::drpc_reward(late, use, kMemoryUsed / shape.memory));
      shape.state = now;
      shape.action = uniform(random_) < explore_ ? pick(random_, kActions) : values_->best(now);
      act(shape, reading.cores);
      const actuator::CpuLimit limit = plain_limit(shape.replicas * shape.cores);
      if (limit != reading.services[i].set) next[i] = limit;
    }
  }

 private:
  struct Shape {
    double replicas = 2, cores = 1, memory = 1, used_s = 0;
    std::size_t state = 0, action = 0;
    std::uint64_t moves = 0;
  };

  static void act(Shape& shape, double most_cores) {
    const double direction = static_cast<double>(shape.action % 3) - 1;
    if (shape.action / 3 == 0) shape.replicas = std::clamp(shape.replicas + direction, 1.0, 10.0);
    if (shape.action / 3 == 1) shape.cores = std::max(0.05, shape.cores * std::pow(kStep, direction));
    if (shape.action / 3 == 2) shape.memory = std::clamp(shape.memory * std::pow(kStep, direction), kMemoryUsed, 4.0);
    shape.cores = std::min(shape.cores, most_cores / shape.replicas);
  }

  std::shared_ptr<Values> values_;
  double explore_, target_share_;
  Random random_;
  std::vector<Shape> shapes_;
};

}  // namespace

Maker prepare_drpc(const WorldOptions& world, double target_share) {
  const auto values = std::make_shared<Values>();
  for (int hour = 0; hour < kHours; ++hour) {
    WorldOptions learning = world;
    learning.seed = learning_seed(hour);
    Drpc explorer(learning, values, 0.5, learning.seed, target_share);
    (void)play(World(learning), explorer);
    values->plan();
  }
  return [=](std::uint64_t seed) { return std::make_unique<Drpc>(world, values, 0.0, seed, target_share); };
}

}  // namespace wattle::sim::provision
