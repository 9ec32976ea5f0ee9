// learner: a chain of placements; each becomes an n-step transition once the outcomes that it needs are known.
#include "placement/learner.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/stats/moments.hpp"
#include "placement/features.hpp"
#include "placement/shortlist.hpp"

namespace wattle::placement {
namespace {

constexpr double kMeanMemory = 0.01;
constexpr double kCentreRate = 0.02;   // of what the errors of a batch say
constexpr double kLeastSpread = 1e-3;  // in rewards

double rate(double least, std::uint64_t count) {
  return std::max(least, 1.0 / static_cast<double>(std::max<std::uint64_t>(count, 1)));
}
double running(double mean, double value, std::uint64_t count) {
  return mean + rate(kMeanMemory, count) * (value - mean);
}

}  // namespace

std::size_t bytes_of(const Experience& experience) {
  const models::Observation& observation = experience.observation;
  return sizeof(Experience) + observation.node.size() * sizeof(float) + observation.nodes * (sizeof(float) + 1);
}

Learner::Learner(const LearnerOptions& options, const RewardConfig& reward, models::QTrainer& trainer)
    : options_(options), reward_(reward), trainer_(trainer), random_(options.seed) {
  options_.n_step = std::max<std::size_t>(options_.n_step, 1);
  options_.batch = std::max<std::size_t>(options_.batch, 1);
  options_.replay_capacity = std::max<std::size_t>(options_.replay_capacity, 1);
  options_.max_rows = std::max<std::size_t>(options_.max_rows, 1);
}

models::Observation Learner::shrink(models::Observation observation, std::uint32_t& action) {
  // The pod is there, so the node was feasible, whatever the mask said.
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

void Learner::placed(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when) {
  ++figures_.placed;
  if (action >= observation.nodes) return;  // bound to a node that no agent tells of: nothing to learn from
  Experience experience;
  experience.decision_id = decision_id;
  experience.when = when;
  experience.observation = shrink(std::move(observation), action);
  experience.action = action;
  if (!chain_.empty() && when < chain_.back().when) {
    experience.after_restart = true;
    for (std::size_t i = grown_; i < chain_.size(); ++i) {
      if (chain_[i].outcome || chain_[i].expired) continue;
      chain_[i].expired = true;
      ++figures_.expired;
    }
  }
  bytes_ += bytes_of(experience);
  chain_.push_back(std::move(experience));
  if (chain_.size() - grown_ > options_.replay_capacity && !chain_[grown_].outcome && !chain_[grown_].expired) {
    chain_[grown_].expired = true;
    ++figures_.expired;
  }
  grow_transitions();
}

void Learner::judge(Experience& experience) const {
  if (!experience.outcome) return;
  const Reward reward = evaluate(reward_, *experience.outcome);
  experience.reward = std::isfinite(reward.value) ? reward.value : 0.0;
  experience.end_of_episode = reward.end_of_episode;
}

Experience* Learner::waiting(std::uint64_t decision_id) {
  const auto found = std::find_if(chain_.rbegin(), chain_.rend(),
                                  [&](const Experience& experience) { return experience.decision_id == decision_id; });
  return found == chain_.rend() || found->expired || found->outcome ? nullptr : &*found;
}

Result<Reward> Learner::settled(std::uint64_t decision_id, RawOutcome outcome) {
  Experience* found = waiting(decision_id);
  if (found == nullptr) {
    return fail(Errc::not_found, "decision " + std::to_string(decision_id), "waits for no outcome",
                "it is unknown, settled already, or its outcome came too late");
  }
  const Reward reward = evaluate(reward_, outcome);
  found->outcome = std::move(outcome);
  judge(*found);
  ++figures_.settled;
  figures_.mean_reward = running(figures_.mean_reward, found->reward, figures_.settled);
  grow_transitions();
  return reward;
}

void Learner::lost(std::uint64_t decision_id) {
  Experience* found = waiting(decision_id);
  if (found == nullptr) return;
  found->expired = true;
  ++figures_.expired;
  grow_transitions();
}

void Learner::expire(MonoTime now) {
  for (std::size_t i = grown_; i < chain_.size(); ++i) {
    Experience& experience = chain_[i];
    if (seconds(now - experience.when) <= options_.settle_expiry_s) break;
    if (experience.outcome || experience.expired) continue;
    experience.expired = true;
    ++figures_.expired;
  }
  grow_transitions();
}

Learner::Growth Learner::make_link(std::size_t first, Link& link) const {
  link = Link{};
  link.first = first_ + first;
  double discount = 1, discounts = 0, sum = 0;
  for (std::size_t ahead = 0; ahead <= options_.n_step; ++ahead) {
    if (first + ahead >= chain_.size()) return Growth::pending;
    const Experience& experience = chain_[first + ahead];
    if (ahead > 0) {
      if (experience.after_restart) return Growth::none;
      const Duration between = experience.when - chain_[first + ahead - 1].when;
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

void Learner::grow_transitions() {
  for (Link link; grown_ < chain_.size(); ++grown_) {
    const Growth growth = make_link(grown_, link);
    if (growth == Growth::pending) break;
    if (growth == Growth::made) replay_.push_back(link);
  }
  trim();
}

void Learner::rebuild_transitions() {
  replay_.clear();
  grown_ = 0;
  grow_transitions();
}

void Learner::drop_oldest() {
  bytes_ -= std::min(bytes_, bytes_of(chain_.front()));
  chain_.pop_front();
  ++first_;
  --grown_;
  while (!replay_.empty() && replay_.front().first < first_) replay_.pop_front();
}

void Learner::trim() {
  while (replay_.size() > options_.replay_capacity) replay_.pop_front();
  // Experience before the oldest transition, or without any, serves nothing.
  while (grown_ > 0 && (replay_.empty() || first_ < replay_.front().first)) drop_oldest();
  while (grown_ > 0 && bytes_ > options_.max_bytes) drop_oldest();
  figures_.replay = replay_.size();
}

std::size_t Learner::first_favoured() const {
  if (!favoured_ || chain_.back().when >= favoured_->until) return replay_.size();
  const auto found = std::partition_point(replay_.begin(), replay_.end(), [&](const Link& link) {
    return chain_[static_cast<std::size_t>(link.first - first_)].when < favoured_->since;
  });
  return static_cast<std::size_t>(found - replay_.begin());
}

void Learner::draw_batch() {
  batch_.resize(options_.batch);
  drawn_.resize(options_.batch);
  const std::size_t newer = first_favoured();
  std::uniform_int_distribution<std::size_t> draw(0, replay_.size() - 1);
  std::uniform_int_distribution<std::size_t> draw_newer(std::min(newer, replay_.size() - 1), replay_.size() - 1);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    models::Transition& transition = batch_[i];
    const bool favour = newer < replay_.size() && i % 2 == 1;
    const Link& link = replay_[favour ? draw_newer(random_) : draw(random_)];
    const Experience& from = chain_[static_cast<std::size_t>(link.first - first_)];
    drawn_[i] = {static_cast<double>(link.reward), static_cast<double>(link.discounts)};
    transition.state = from.observation;
    transition.action = from.action;
    transition.discount = link.discount;
    transition.next.nodes = 0;
    if (link.ahead > 0) {
      transition.next = chain_[static_cast<std::size_t>(link.first - first_) + link.ahead].observation;
    } else {
      transition.next = models::Observation{};
    }
  }
}

// Centred rewards, and the unit of errors: how much what a transition is paid varies.
double Learner::pay_batch() {
  stats::Moments paid, discounts;
  double rewards = 0;
  for (const auto& [reward, counted] : drawn_) {
    rewards += reward;
    discounts.add(counted);
  }
  const double mean_discounts = discounts.mean();
  if (centring_.steps == 0 && mean_discounts > 0)
    centring_.centre = rewards / static_cast<double>(drawn_.size()) / mean_discounts;
  const double centre = options_.reward_centre.value_or(centring_.centre);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const double value = options_.reward_scale * (drawn_[i].first - centre * drawn_[i].second);
    batch_[i].reward = static_cast<float>(value);
    paid.add(value);
  }
  centring_.spread2 += rate(kMeanMemory, centring_.steps + 1) * (paid.variance() - centring_.spread2);
  const double unit = std::max(kLeastSpread, std::sqrt(centring_.spread2));
  for (models::Transition& each : batch_) each.unit = static_cast<float>(unit);
  return mean_discounts;
}

Result<std::optional<models::StepStats>> Learner::step() {
  if (replay_.empty() || replay_.size() < options_.warmup) return std::optional<models::StepStats>{};
  draw_batch();
  const double discounts = options_.reward_scale * pay_batch();
  std::vector<const models::Transition*> pointers;
  pointers.reserve(batch_.size());
  for (const models::Transition& each : batch_) pointers.push_back(&each);
  WATTLE_TRY(const models::StepStats stats, trainer_.step(pointers));
  ++figures_.steps;
  ++centring_.steps;
  // What Q would have to rise by on average is the centre's to take.
  if (discounts > 0) centring_.centre += rate(kCentreRate, centring_.steps) * stats.mean_error / discounts;
  figures_.centre = options_.reward_centre.value_or(centring_.centre);
  figures_.td_error = std::sqrt(running(figures_.td_error * figures_.td_error, stats.error2, figures_.steps));
  figures_.loss = running(figures_.loss, stats.loss, figures_.steps);
  figures_.mean_q = running(figures_.mean_q, stats.mean_q, figures_.steps);
  return std::optional<models::StepStats>(stats);
}

void Learner::set_reward(const RewardConfig& reward) {
  reward_ = reward;
  centring_ = {};
  for (Experience& experience : chain_) {
    judge(experience);
    relabel(experience.observation, reward_);
  }
  rebuild_transitions();
}

}  // namespace wattle::placement
