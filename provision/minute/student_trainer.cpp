#include "provision/minute/student_trainer.hpp"

#include <utility>

#include "models/frozen/frozen_network.hpp"
#include "provision/minute/choice.hpp"
#include "provision/minute/lesson.hpp"

namespace wattle::models::provision {

Agreement agreement_of(const std::deque<PolicyExample>& lessons, const QNetwork* student) {
  Agreement found;
  found.lessons = lessons.size();
  if (lessons.empty()) return found;
  const double share = 1 / static_cast<double>(lessons.size());
  for (const PolicyExample& each : lessons) {
    const std::size_t taught = taught_action(each);
    found.student += best_action(each.state, student) == taught ? share : 0;
    found.rule += best_action(each.state, nullptr) == taught ? share : 0;
  }
  return found;
}

StudentTrainer::StudentTrainer(const StudentTrainerOptions& options, std::unique_ptr<PolicyTrainer> trainer)
    : options_(options), trainer_(std::move(trainer)), random_(options.seed), judged_at_(trainer_->steps()) {}

Result<std::optional<Weights>> StudentTrainer::add(PolicyExample lesson) {
  const bool judges = taken_++ % kHeldOutOf == kHeldOutOf - 1;
  std::deque<PolicyExample>& kept = judges ? held_out_ : lessons_;
  kept.push_back(std::move(lesson));
  if (kept.size() > (judges ? options_.held_out : options_.lessons)) kept.pop_front();
  if (lessons_.size() < options_.warmup) return std::optional<Weights>();
  WATTLE_CHECK(learn());
  if (trainer_->steps() < options_.steps || trainer_->steps() < judged_at_ + options_.judge_every ||
      held_out_.size() < options_.least_held_out)
    return std::optional<Weights>();
  return judge();
}

Status StudentTrainer::learn() {
  batch_.resize(options_.batch);
  for (std::size_t i = 0; i < options_.steps_per_lesson; ++i) {
    for (const PolicyExample*& each : batch_) each = &lessons_[stats::pick(random_, lessons_.size())];
    WATTLE_TRY(const PolicyStats stats, trainer_->imitate(batch_, kLessonTemperature));
    loss_ = loss_ ? *loss_ + 0.05 * (stats.loss - *loss_) : stats.loss;
  }
  return {};
}

Result<std::optional<Weights>> StudentTrainer::judge() {
  judged_at_ = trainer_->steps();
  Weights weights = trainer_->weights();
  WATTLE_TRY(const auto student, FrozenNetwork::from_weights(weights, trainer_->steps()));
  agreement_ = agreement_of(held_out_, student.get());
  if (agreement_->student <= agreement_->rule) return std::optional<Weights>();
  return std::optional(std::move(weights));
}

}  // namespace wattle::models::provision
