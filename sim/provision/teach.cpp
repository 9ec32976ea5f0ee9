#include "sim/provision/teach.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "common/stats/moments.hpp"
#include "models/frozen/frozen_network.hpp"
#include "sim/provision/contestants.hpp"

namespace wattle::sim::provision {

namespace {

namespace choice = models::provision;

constexpr std::uint64_t kTeachStream = 0x7465616368ULL;
constexpr std::size_t kFreezeEvery = 60;  // minutes
constexpr double kLeastScale = 0.3, kMostScale = 2;

// One minute of one service: what was seen, what was done, and what it cost.
struct Lived {
  models::Observation state;
  std::uint32_t action = 0;
  double reward = 0;
};

// Minutes of all services in the order of their streams' time.
class Replay {
 public:
  Replay(const TeachOptions& options, Random& random)
      : options_(options), random_(random), open_(options.world.services) {}

  // What the service's last choice became, and its next one.
  void add(std::size_t service, double reward, models::Observation state, std::uint32_t action) {
    std::vector<Lived>& stream = open_[service];
    if (!stream.empty()) {
      stream.back().reward = reward;
      rewards_.add(reward);
    }
    stream.push_back({std::move(state), action, 0});
  }
  void end_hour() {
    for (std::vector<Lived>& stream : open_) {
      kept_ += stream.size();
      if (stream.size() > options_.n_step + 1) hours_.push_back(std::move(stream));
      stream.clear();
    }
    while (kept_ > options_.replay_minutes && hours_.size() > 1) {
      kept_ -= hours_.front().size();
      hours_.pop_front();
    }
  }
  std::size_t size() const { return kept_; }
  double mean_reward() const { return rewards_.mean(); }

  void draw(std::vector<models::Transition>& batch) {
    batch.resize(options_.batch);
    for (models::Transition& transition : batch) {
      const std::vector<Lived>& hour = hours_[pick(random_, hours_.size())];
      const std::size_t from = pick(random_, hour.size() - options_.n_step);
      double reward = 0, discount = 1;
      for (std::size_t i = 0; i < options_.n_step; ++i, discount *= options_.discount)
        reward += discount * (hour[from + i].reward - rewards_.mean());
      transition.state = hour[from].state;
      transition.action = hour[from].action;
      transition.next = hour[from + options_.n_step].state;
      transition.reward = static_cast<float>(reward);
      transition.discount = static_cast<float>(discount);
    }
  }

 private:
  const TeachOptions& options_;
  Random& random_;
  std::vector<std::vector<Lived>> open_;
  std::deque<std::vector<Lived>> hours_;
  std::size_t kept_ = 0;
  stats::Moments rewards_;
};

std::size_t any_action(const models::Observation& observation, Random& random) {
  std::size_t action = 0;
  do action = pick(random, choice::kActions);
  while (observation.valid[action] == 0);
  return action;
}

class Explorer final : public Steering {
 public:
  Explorer(const TeachOptions& options, models::QTrainer& trainer)
      : options_(options), trainer_(trainer), random_(mix(options.seed, kTeachStream)), replay_(options, random_) {}

  choice::Setting minute(std::size_t service, const MinuteOfService& seen) override {
    Asked asked = ask_teacher(seen);
    const std::size_t action = uniform(random_) < epsilon_ ? any_action(asked.observation, random_)
                                                           : choice::best_action(asked.observation, network_.get());
    replay_.add(service, seen.need - seen.cost, std::move(asked.observation), static_cast<std::uint32_t>(action));
    costs_ += seen.cost;
    ++minutes_;
    if (failed_.has_value() || replay_.size() < options_.warmup)
      return choice::after(action, asked.state, asked.bounds);
    for (std::size_t i = 0; i < options_.steps_per_minute; ++i) learn();
    if (minutes_ % kFreezeEvery == 0) freeze();
    return choice::after(action, asked.state, asked.bounds);
  }

  void begin_hour(double epsilon) {
    epsilon_ = epsilon;
    costs_ = 0;
    hour_from_ = minutes_;
  }
  double end_hour() {
    replay_.end_hour();
    return costs_ / static_cast<double>(std::max<std::size_t>(minutes_ - hour_from_, 1));
  }
  const std::optional<Error>& failed() const { return failed_; }
  std::size_t minutes() const { return minutes_; }
  std::size_t steps() const { return steps_; }

 private:
  void learn() {
    replay_.draw(batch_);
    borrowed_.clear();
    for (const models::Transition& each : batch_) borrowed_.push_back(&each);
    if (const auto stepped = trainer_.step(borrowed_); stepped)
      ++steps_;
    else
      failed_ = stepped.error();
  }
  void freeze() {
    const auto network = models::FrozenNetwork::from_weights(trainer_.weights(), trainer_.steps());
    if (network)
      network_ = *network;
    else
      failed_ = network.error();
  }

  const TeachOptions& options_;
  models::QTrainer& trainer_;
  Random random_;
  Replay replay_;
  std::shared_ptr<const models::QNetwork> network_;
  std::vector<models::Transition> batch_;
  std::vector<const models::Transition*> borrowed_;
  std::optional<Error> failed_;
  double epsilon_ = 0, costs_ = 0;
  std::size_t minutes_ = 0, hour_from_ = 0, steps_ = 0;
};

}  // namespace

WorldOptions learning_world(const TeachOptions& options, std::size_t hour) {
  WorldOptions world = options.world;
  Random random(mix(mix(options.seed, kTeachStream), hour));
  std::vector<RateTrace> traces = synthetic_rates(random(), 60 * options.minutes);
  RateTrace& trace = traces[hour % traces.size()];
  scale(trace, kLeastScale * std::pow(kMostScale / kLeastScale, uniform(random)));
  world.trace = std::make_shared<const RateTrace>(std::move(trace));
  world.seed = mix(learning_seed(static_cast<int>(hour)), options.seed);
  return world;
}

Result<Taught> teach(const TeachOptions& options, models::QTrainer& trainer, const Progress& progress) {
  Explorer explorer(options, trainer);
  std::vector<double> costs;
  for (std::size_t hour = 0; hour < options.hours; ++hour) {
    const double done = static_cast<double>(hour) / static_cast<double>(options.hours);
    progress(done, "teacher");
    explorer.begin_hour(std::max(options.epsilon_last,
                                 options.epsilon_first - 2 * done * (options.epsilon_first - options.epsilon_last)));
    const WorldOptions world = learning_world(options, hour);
    Steered services(world, options.steer, explorer);
    WATTLE_CHECK(play(World(world), services));
    costs.push_back(explorer.end_hour());
    if (explorer.failed()) return tl::unexpected<Error>(*explorer.failed());
  }
  Taught taught{trainer.weights(), explorer.minutes(), explorer.steps(), 0, 0};
  const std::size_t tenth = std::max<std::size_t>(costs.size() / 10, 1);
  for (std::size_t i = 0; i < std::min(tenth, costs.size()); ++i) {
    taught.first_cost += costs[i] / static_cast<double>(tenth);
    taught.last_cost += costs[costs.size() - 1 - i] / static_cast<double>(tenth);
  }
  return taught;
}

}  // namespace wattle::sim::provision
