#include "placement/learn/learner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattle::placement {
namespace {

constexpr double kMeanMemory = 0.01;
constexpr double kCentreRate = 0.02;  // of the mean error of a batch

double running(double mean, double value, std::uint64_t count) {
  return mean + std::max(kMeanMemory, 1.0 / static_cast<double>(std::max<std::uint64_t>(count, 1))) * (value - mean);
}

// Moves the centre by the mean rise that Q needs (value-based reward centring: Naik, Wan, Tomar, Sutton 2024) and by
// Q's level above its prior. Without the second term Q could fall and the centre rise forever, each compensating for
// the other.
double centre_after(const RewardCentring::State& before, const models::StepStats& stats,
                    std::span<const models::Transition> batch, std::span<const ReturnSums> sums, double scale) {
  double discounts = 0, discount = 0, prior = 0;
  for (const ReturnSums& each : sums) discounts += each.discounts;
  for (const models::Transition& each : batch) {
    discount += static_cast<double>(each.discount);
    prior += static_cast<double>(each.state.prior[each.action]);
  }
  const auto count = static_cast<double>(batch.size());
  if (!(discounts > 0)) return before.centre;
  const double rises = stats.mean_error + (1 - discount / count) * (stats.mean_q - prior / count);
  const double rate = std::max(kCentreRate, 1.0 / static_cast<double>(std::max<std::uint64_t>(before.steps, 1)));
  return before.centre + rate * rises / (scale * discounts / count);
}

}  // namespace

Learner::Learner(const LearnerOptions& options, const RewardConfig& reward, models::QTrainer& trainer)
    : options_(options),
      reward_(reward),
      trainer_(trainer),
      replay_(options),
      centring_(options.reward_centre, options.reward_scale) {
  options_.batch = std::max<std::size_t>(options_.batch, 1);
}

void Learner::count_replay(std::uint64_t given_up_before) {
  figures_.expired += replay_.given_up() - given_up_before;
  figures_.replay = replay_.size();
}

void Learner::placed(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when) {
  ++figures_.placed;
  const std::uint64_t before = replay_.given_up();
  replay_.add(decision_id, std::move(observation), action, when);
  count_replay(before);
}

Result<Reward> Learner::settled(std::uint64_t decision_id, RawOutcome outcome) {
  const Reward reward = evaluate(reward_, outcome);
  const std::uint64_t before = replay_.given_up();
  WATTLE_TRY(const double paid, replay_.settle(decision_id, std::move(outcome), reward_));
  ++figures_.settled;
  figures_.mean_reward = running(figures_.mean_reward, paid, ++outcomes_judged_);
  count_replay(before);
  return reward;
}

void Learner::lost(std::uint64_t decision_id) {
  const std::uint64_t before = replay_.given_up();
  replay_.lose(decision_id);
  count_replay(before);
}

void Learner::expire(MonoTime now) {
  const std::uint64_t before = replay_.given_up();
  replay_.expire(now);
  count_replay(before);
}

Result<std::optional<models::StepStats>> Learner::step() {
  if (replay_.size() == 0 || replay_.size() < options_.warmup) return std::optional<models::StepStats>{};
  batch_.resize(options_.batch);
  sums_.resize(options_.batch);
  replay_.draw(batch_, sums_);
  centring_.pay(batch_, sums_);
  std::vector<const models::Transition*> pointers;
  pointers.reserve(batch_.size());
  for (const models::Transition& each : batch_) pointers.push_back(&each);
  WATTLE_TRY(const models::StepStats stats, trainer_.step(pointers));
  ++figures_.steps;
  ++figures_.steps_judged;
  RewardCentring::State centring = centring_.state();
  centring.centre = centre_after(centring, stats, batch_, sums_, options_.reward_scale);
  centring_.restore(centring);
  figures_.centre = centring_.centre();
  const double error2 = figures_.td_error ? *figures_.td_error * *figures_.td_error : stats.error2;
  figures_.td_error = std::sqrt(running(error2, stats.error2, figures_.steps_judged));
  figures_.loss = running(figures_.loss, stats.loss, figures_.steps_judged);
  figures_.mean_q = running(figures_.mean_q, stats.mean_q, figures_.steps_judged);
  return std::optional<models::StepStats>(stats);
}

void Learner::set_reward(const RewardConfig& reward) {
  const bool other = !(reward == reward_);
  reward_ = reward;
  centring_.restore({});
  figures_.centre = centring_.centre();
  const std::uint64_t before = replay_.given_up();
  replay_.judge_by(reward_);
  count_replay(before);
  if (other) begin_means();
}

// A mean over two different rewards has no meaning. Stored outcomes get the new reward; earlier steps are not repeated.
void Learner::begin_means() {
  figures_.loss = figures_.mean_q = figures_.mean_reward = 0;
  figures_.td_error.reset();
  figures_.steps_judged = outcomes_judged_ = 0;
  for (const Experience& each : replay_.chain())
    if (each.outcome) figures_.mean_reward = running(figures_.mean_reward, each.reward, ++outcomes_judged_);
}

}  // namespace wattle::placement
