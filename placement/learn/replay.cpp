// replay: a chain of placements; each becomes an n-step transition once its outcomes are known.
#include "placement/learn/replay.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "placement/worth/features.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::placement {

std::size_t bytes_of(const Experience& experience) {
  const models::Observation& observation = experience.observation;
  return sizeof(Experience) + observation.node.size() * sizeof(float) + observation.nodes * (sizeof(float) + 1);
}

void judge(Experience& experience, const RewardConfig& config) {
  if (!experience.outcome) return;
  const Reward reward = evaluate(config, *experience.outcome);
  experience.reward = std::isfinite(reward.value) ? reward.value : 0.0;
  experience.end_of_episode = reward.end_of_episode;
}

Replay::Replay(const LearnerOptions& options) : options_(options), random_(options.seed) {
  options_.n_step = std::max<std::size_t>(options_.n_step, 1);
  options_.replay_capacity = std::max<std::size_t>(options_.replay_capacity, 1);
  options_.max_rows = std::max<std::size_t>(options_.max_rows, 1);
}

models::Observation Replay::shrink(models::Observation observation, std::uint32_t& action) {
  // The pod runs there, so the node was feasible even if it was masked.
  observation.valid[action] = 1;
  if (beyond_shortlist(observation, options_.shortlist)) {
    const std::vector<std::size_t> listed = shortlist(observation, options_.shortlist, action);
    action = static_cast<std::uint32_t>(std::lower_bound(listed.begin(), listed.end(), action) - listed.begin());
    return listed_alone(observation, listed);
  }
  if (observation.nodes <= options_.max_rows) return observation;
  std::vector<std::size_t> rows(observation.nodes);
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = row;
  std::shuffle(rows.begin(), rows.end(), random_);
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    const auto order = [&](std::size_t row) { return row == action ? 0 : observation.valid[row] != 0 ? 1 : 2; };
    return order(a) < order(b);
  });
  rows.resize(options_.max_rows);
  std::sort(rows.begin(), rows.end());
  models::Observation kept;
  kept.nodes = rows.size();
  kept.pod = observation.pod;
  kept.context = observation.context;
  kept.node.reserve(rows.size() * models::kNodeFeatures);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* node = &observation.node[rows[i] * models::kNodeFeatures];
    kept.node.insert(kept.node.end(), node, node + models::kNodeFeatures);
    kept.prior.push_back(observation.prior[rows[i]]);
    kept.valid.push_back(observation.valid[rows[i]]);
  }
  action = static_cast<std::uint32_t>(std::lower_bound(rows.begin(), rows.end(), action) - rows.begin());
  return kept;
}

void Replay::give_up(Experience& experience) {
  if (experience.outcome || experience.expired) return;
  experience.expired = true;
  ++given_up_;
}

void Replay::add(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when) {
  if (action >= observation.nodes) return;  // bound to a node without an agent: there is no data to learn from
  Experience experience;
  experience.decision_id = decision_id;
  experience.when = when;
  experience.observation = shrink(std::move(observation), action);
  experience.action = action;
  if (!chain_.empty() && when < chain_.back().when) {
    experience.after_restart = true;
    for (std::size_t i = grown_; i < chain_.size(); ++i) give_up(chain_[i]);
  }
  bytes_ += bytes_of(experience);
  chain_.push_back(std::move(experience));
  if (chain_.size() - grown_ > options_.replay_capacity) give_up(chain_[grown_]);
  grow();
}

Experience* Replay::waiting(std::uint64_t decision_id) {
  const auto found = std::find_if(chain_.rbegin(), chain_.rend(),
                                  [&](const Experience& experience) { return experience.decision_id == decision_id; });
  return found == chain_.rend() || found->expired || found->outcome ? nullptr : &*found;
}

Result<double> Replay::settle(std::uint64_t decision_id, RawOutcome outcome, const RewardConfig& reward) {
  Experience* found = waiting(decision_id);
  if (found == nullptr) {
    return fail(Errc::not_found, "decision " + std::to_string(decision_id), "is not waiting for an outcome",
                "it is unknown or already settled, or its outcome came too late");
  }
  found->outcome = std::move(outcome);
  judge(*found, reward);
  const double paid = found->reward;  // a copy, because grow() may drop the entry
  grow();
  return paid;
}

void Replay::lose(std::uint64_t decision_id) {
  Experience* found = waiting(decision_id);
  if (found == nullptr) return;
  give_up(*found);
  grow();
}

void Replay::expire(MonoTime now) {
  for (std::size_t i = grown_; i < chain_.size(); ++i) {
    if (seconds(now - chain_[i].when) <= options_.settle_expiry_s) break;
    give_up(chain_[i]);
  }
  grow();
}

Replay::Growth Replay::make_link(std::size_t first, Link& link) const {
  link = Link{};
  link.first = first_ + first;
  double discount = 1, discounts = 0, sum = 0;
  for (std::size_t ahead = 0; ahead <= options_.n_step; ++ahead) {
    if (first + ahead >= chain_.size()) return Growth::pending;
    const Experience& experience = chain_[first + ahead];
    if (ahead > 0) {
      if (experience.after_restart) return Growth::none;
      const Duration between = experience.when - chain_[first + ahead - 1].when;
      if (options_.tau_s < 0)
        discount *= std::exp(1 / options_.tau_s);
      else
        discount *= options_.tau_s > 0 ? std::exp(-seconds(between) / options_.tau_s) : 0.0;
    }
    if (ahead == options_.n_step || experience.expired) {
      if (ahead == 0) return Growth::none;
      link.ahead = static_cast<std::uint32_t>(ahead);
      link.reward = static_cast<float>(sum);
      link.discounts = static_cast<float>(discounts);
      link.discount = static_cast<float>(discount);
      return Growth::made;
    }
    if (!experience.outcome) return Growth::pending;
    sum += discount * experience.reward;
    discounts += discount;
    if (experience.end_of_episode) {
      link.reward = static_cast<float>(sum);
      link.discounts = static_cast<float>(discounts);
      return Growth::made;
    }
  }
  return Growth::pending;
}

void Replay::grow() {
  for (Link link; grown_ < chain_.size(); ++grown_) {
    const Growth growth = make_link(grown_, link);
    if (growth == Growth::pending) break;
    if (growth == Growth::made) links_.push_back(link);
  }
  trim();
}

void Replay::rebuild() {
  links_.clear();
  grown_ = 0;
  grow();
}

void Replay::drop_oldest() {
  bytes_ -= std::min(bytes_, bytes_of(chain_.front()));
  chain_.pop_front();
  ++first_;
  --grown_;
  while (!links_.empty() && links_.front().first < first_) links_.pop_front();
}

void Replay::trim() {
  while (links_.size() > options_.replay_capacity) links_.pop_front();
  // Drops experience before the oldest transition, because no transition uses it.
  while (grown_ > 0 && (links_.empty() || first_ < links_.front().first)) drop_oldest();
  while (grown_ > 0 && bytes_ > options_.max_bytes) drop_oldest();
}

void Replay::draw(std::span<models::Transition> batch, std::span<ReturnSums> sums) {
  std::uniform_int_distribution<std::size_t> draw(0, links_.size() - 1);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    models::Transition& transition = batch[i];
    const Link& link = links_[draw(random_)];
    const Experience& from = chain_[static_cast<std::size_t>(link.first - first_)];
    sums[i] = {static_cast<double>(link.reward), static_cast<double>(link.discounts)};
    transition.state = from.observation;
    transition.action = from.action;
    transition.discount = link.discount;
    transition.next = link.ahead == 0 ? models::Observation{}
                                      : chain_[static_cast<std::size_t>(link.first - first_) + link.ahead].observation;
  }
}

void Replay::judge_by(const RewardConfig& reward) {
  for (Experience& experience : chain_) {
    judge(experience, reward);
    relabel(experience.observation, reward);
  }
  rebuild();
}

void Replay::restore(std::deque<Experience> chain, std::uint64_t first, const std::mt19937_64& generator) {
  chain_ = std::move(chain);
  first_ = first;
  random_ = generator;
  bytes_ = 0;
  for (const Experience& experience : chain_) bytes_ += bytes_of(experience);
  rebuild();
}

}  // namespace wattle::placement
