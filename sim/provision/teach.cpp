#include "sim/provision/teach.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "provision/minute/drpc_reward.hpp"
#include "provision/minute/minute_replay.hpp"

namespace wattle::sim::provision {

namespace {

namespace choice = models::provision;

constexpr std::uint64_t kTeachStream = 0x7465616368ULL;
constexpr std::size_t kFreezeEvery = 60;  // minutes
constexpr double kLeastScale = 0.3, kMostScale = 2;

// Returns a random possible action.
std::size_t any_action(const models::Observation& observation, Random& random) {
  std::size_t action = 0;
  do action = pick(random, choice::kActions);
  while (observation.valid[action] == 0);
  return action;
}

class Explorer final : public Steering {
 public:
  Explorer(const TeachOptions& options, models::QTrainer& trainer)
      : options_(options),
        trainer_(trainer),
        random_(mix(options.seed, kTeachStream)),
        replay_({options.replay_minutes, options.n_step, options.discount}) {}

  choice::Setting minute(std::size_t service, const MinuteOfService& seen) override {
    Asked asked = ask_teacher(seen);
    const std::size_t action = uniform(random_) < epsilon_ ? any_action(asked.observation, random_)
                                                           : choice::best_action(asked.observation, network_.get());
    const double reward = options_.reward == TeacherReward::drpc ? choice::drpc_reward(seen.state, seen.bounds.memory)
                                                                 : seen.need - seen.cost;
    replay_.add(std::to_string(service), reward, std::move(asked.observation), static_cast<std::uint32_t>(action));
    costs_ += seen.cost;
    ++minutes_;
    if (failed_.has_value() || replay_.size() < options_.warmup)
      return choice::after(action, asked.state, asked.bounds);
    learn();
    if (minutes_ % kFreezeEvery == 0) freeze();
    return choice::after(action, asked.state, asked.bounds);
  }

  void begin_hour(double epsilon) {
    epsilon_ = epsilon;
    costs_ = 0;
    hour_from_ = minutes_;
  }
  double end_hour() {
    replay_.end_all();
    return costs_ / static_cast<double>(std::max<std::size_t>(minutes_ - hour_from_, 1));
  }
  const std::optional<Error>& failed() const { return failed_; }
  std::size_t minutes() const { return minutes_; }
  std::size_t steps() const { return steps_; }

 private:
  void learn() {
    batch_.resize(options_.batch);
    replay_.draw(batch_, [this](std::size_t of) { return pick(random_, of); });
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
  choice::MinuteReplay replay_;
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
