#include "controller/trainer/curves.hpp"

#include <algorithm>

namespace wattle::controller {

void Curves::add(const placement::Reward& reward) {
  means_["reward/mean"].add(reward.value);
  for (const auto& [name, value] : reward.terms) means_["reward/" + name].add(value);
  return_ += reward.value;
  ++length_;
  if (!reward.end_of_episode && length_ < kEpisode) return;
  means_["episode/return"].add(return_);
  means_["episode/length"].add(static_cast<double>(length_));
  return_ = 0;
  length_ = 0;
}

void Curves::add(const models::StepStats& stats) {
  means_["train/td_loss"].add(stats.loss);
  means_["train/q_mean"].add(stats.mean_q);
  means_["train/grad_norm"].add(stats.grad_norm);
  max_abs_q_ = std::max(max_abs_q_, stats.max_abs_q);
}

void Curves::begin_reward() {
  std::erase_if(means_, [](const auto& each) { return !each.first.starts_with("train/"); });
  return_ = 0;
  length_ = 0;
}

models::Scalars Curves::take() {
  models::Scalars scalars;
  for (const auto& [tag, mean] : means_) scalars.emplace_back(tag, mean.sum / static_cast<double>(mean.count));
  if (means_.contains("train/td_loss")) scalars.emplace_back("train/q_max_abs", max_abs_q_);
  means_.clear();
  max_abs_q_ = 0;
  return scalars;
}

Status Curves::flush(std::uint64_t step, WallTime at, models::Scalars now) {
  models::Scalars scalars = take();
  if (scalars.empty()) return {};
  if (!events_) {
    WATTLE_TRY(events_, models::EventDir::open_(directory_));
  }
  scalars.insert(scalars.end(), std::make_move_iterator(now.begin()), std::make_move_iterator(now.end()));
  return events_->write(step, at, scalars);
}

}  // namespace wattle::controller
