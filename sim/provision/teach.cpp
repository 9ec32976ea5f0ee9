#include "sim/provision/teach.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "provision/minute/drpc_reward.hpp"
#include "provision/minute/lesson.hpp"
#include "provision/minute/minute_replay.hpp"
#include "provision/minute/student_file.hpp"

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

namespace {

namespace choice = models::provision;

constexpr std::uint64_t kLessonStream = 0x6c6573736fULL;

class StudentSteering final : public Steering {
 public:
  StudentSteering(double temperature, std::shared_ptr<const models::QNetwork> teacher,
                  std::vector<models::PolicyExample>& examples)
      : temperature_(temperature), teacher_(std::move(teacher)), examples_(examples) {}

  // Null lets the teacher drive.
  void drive_by(std::shared_ptr<const models::QNetwork> student) { student_ = std::move(student); }

  choice::Setting minute(std::size_t, const MinuteOfService& seen) override {
    Asked asked = ask_student(seen);
    const models::Observation whole = choice::observe(seen.state, asked.bounds);
    const std::size_t action =
        student_ ? choice::best_action(asked.observation, student_.get()) : choice::best_action(whole, teacher_.get());
    const choice::Setting next = choice::after(action, student_ ? asked.state : seen.state, asked.bounds);
    examples_.push_back(choice::lesson(std::move(asked.observation), whole, teacher_.get(), temperature_));
    return next;
  }

 private:
  double temperature_;
  std::shared_ptr<const models::QNetwork> teacher_, student_;
  std::vector<models::PolicyExample>& examples_;
};

}  // namespace

models::Safetensors Lessons::model() const { return choice::student_model(weights); }

Result<Lessons> teach_student(const TeachOptions& options, std::shared_ptr<const models::QNetwork> teacher,
                              models::PolicyTrainer& trainer, const Progress& progress) {
  std::vector<models::PolicyExample> examples;
  StudentSteering student_steering(options.temperature, std::move(teacher), examples);
  Random random(mix(options.seed, kLessonStream));
  Lessons lessons;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    progress(static_cast<double>(round) / static_cast<double>(options.rounds), "student");
    for (std::size_t i = 0; i < options.hours_per_round; ++i) {
      const WorldOptions world = learning_world(options, options.hours + round * options.hours_per_round + i);
      Steered services(world, options.steer, student_steering);
      WATTLE_CHECK(play(World(world), services));
    }
    double agreement = 0;
    std::vector<const models::PolicyExample*> batch(options.batch);
    for (std::size_t step = 0; step < options.steps_per_round; ++step) {
      for (const models::PolicyExample*& each : batch) each = &examples[pick(random, examples.size())];
      WATTLE_TRY(const models::PolicyStats stats, trainer.imitate(batch, options.temperature));
      agreement += stats.agreement / static_cast<double>(options.steps_per_round);
    }
    WATTLE_TRY(const auto student, models::FrozenNetwork::from_weights(trainer.weights(), trainer.steps()));
    student_steering.drive_by(student);
    lessons.agreement = agreement;
  }
  lessons.weights = trainer.weights();
  lessons.examples = examples.size();
  return lessons;
}

}  // namespace wattle::sim::provision
