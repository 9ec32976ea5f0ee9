// teach: trains the provisioning teacher online in simulated hours with Double DQN behind models::QTrainer, and its
// student, which acts while the teacher labels (DAgger: Ross, Gordon, Bagnell 2011).
// Hours    synthetic traces of one seed each, at rates of a random scale; none of them is used for evaluation
// Reward   -(cost of the following minute beyond the work that arrived in it), or DRPC's
//          (provision/minute/drpc_reward), minus its mean; each service of a chain acts and learns separately
// Units    hours of simulated time; costs as provision/minute/choice.hpp
// Errors   forwards the trainer's; errors of a world's write
// Threads  single owner; the same options and trainer give the same weights
#pragma once

#include <functional>
#include <memory>

#include "models/frozen/safetensors.hpp"
#include "models/frozen/trainer.hpp"
#include "provision/minute/drpc_reward.hpp"
#include "provision/minute/lesson.hpp"
#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {

using models::provision::TeacherReward;

struct TeachOptions {
  WorldOptions world;  // trace and seed are set here
  SteerOptions steer;
  TeacherReward reward = TeacherReward::waste;
  std::size_t hours = 300;
  std::size_t minutes = 60;  // per hour
  std::uint64_t seed = 1;
  double epsilon_first = 0.3, epsilon_last = 0.05;  // linear over the first half
  double discount = 0.9;                            // per minute
  std::size_t n_step = 3, batch = 64;
  std::size_t warmup = 500;  // minutes before the first step
  std::size_t replay_minutes = 40'000;
  std::size_t rounds = 4, hours_per_round = 12, steps_per_round = 1500;  // of the student
  double temperature = models::provision::kLessonTemperature;            // of costs, in its labels
};

using Progress = std::function<void(double, const std::string&)>;

// Returns the world of an hour for learning.
WorldOptions learning_world(const TeachOptions& options, std::size_t hour);

struct Taught {
  models::Weights weights;
  std::size_t minutes = 0, steps = 0;
  double first_cost = 0, last_cost = 0;  // mean per minute of the first and last tenth, with exploration
};
Result<Taught> teach(const TeachOptions& options, models::QTrainer& trainer, const Progress& progress);

struct Lessons {
  models::Weights weights;
  std::size_t examples = 0;
  double agreement = 0;               // with the teacher, over the last round's steps
  models::Safetensors model() const;  // content of the student's file
};
// `teacher` null: teaches the integral rule on the discrete settings.
Result<Lessons> teach_student(const TeachOptions& options, std::shared_ptr<const models::QNetwork> teacher,
                              models::PolicyTrainer& trainer, const Progress& progress);

}  // namespace wattle::sim::provision
