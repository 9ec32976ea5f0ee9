// lessons: trains the student: it drives, the teacher labels each minute, and all labels so far are used for learning.
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "provision/minute/lesson.hpp"
#include "provision/minute/student_file.hpp"
#include "sim/provision/teach.hpp"

namespace wattle::sim::provision {

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
