// student_trainer: trains a student to imitate its teacher's choices, and offers it once it repeats more of them than a
// node's own rule does.
// Source   lessons (lesson.hpp); one in kHeldOutOf is used only for evaluation, never for training
// Bounds   number of lessons kept (the oldest are dropped first), gradient steps per lesson
// Errors   those of the trainer
// Threads  single owner; the same lessons, options and trainer give the same weights
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "common/result.hpp"
#include "common/stats/draws.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models::provision {

struct StudentTrainerOptions {
  std::size_t lessons = 5000;  // kept
  std::size_t held_out = 600;  // kept
  std::size_t least_held_out = 100;
  std::size_t warmup = 600;  // lessons before the first step
  std::size_t batch = 64, steps_per_lesson = 2;
  std::uint64_t steps = 4000;       // before the first evaluation
  std::uint64_t judge_every = 500;  // steps
  std::uint64_t seed = 1;
};

// Shares of the held-out lessons in which the teacher's choice is repeated.
struct Agreement {
  std::size_t lessons = 0;
  double student = 0, rule = 0;  // rule: by throttling, on rungs
};

class StudentTrainer {
 public:
  static constexpr std::uint64_t kHeldOutOf = 8;

  StudentTrainer(const StudentTrainerOptions& options, std::unique_ptr<PolicyTrainer> trainer);
  // Adds a lesson and trains. Returns the weights when the student is good enough for a trial.
  Result<std::optional<Weights>> add(PolicyExample lesson);

  // Result of the last evaluation.
  const std::optional<Agreement>& agreement() const { return agreement_; }
  std::size_t lessons() const { return lessons_.size(); }
  std::uint64_t steps() const { return trainer_->steps(); }
  const std::optional<double>& loss() const { return loss_; }
  const PolicyTrainer& trainer() const { return *trainer_; }

 private:
  Status learn();
  Result<std::optional<Weights>> judge();

  StudentTrainerOptions options_;
  std::unique_ptr<PolicyTrainer> trainer_;
  stats::Random random_;
  std::deque<PolicyExample> lessons_, held_out_;
  std::vector<const PolicyExample*> batch_;
  std::uint64_t taken_ = 0, judged_at_ = 0;
  std::optional<Agreement> agreement_;
  std::optional<double> loss_;
};

// Share of `lessons` in which the best action is the teacher's. Null network: only the prior.
Agreement agreement_of(const std::deque<PolicyExample>& lessons, const QNetwork* student);

}  // namespace wattle::models::provision
