#include "common/stats/best_arm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/stats/draws.hpp"

namespace wattle::stats {

namespace {

constexpr double kArmShare = 0.5;         // of the allowed loss, for one arm
constexpr std::size_t kFloorBlocks = 12;  // newest blocks of the floor that give its cost
constexpr std::uint64_t kMostRests = 4;   // doublings of a rest
constexpr double kSlopePrior = 0.2;       // squared changes of the expected cost that a slope of 1 counts for
constexpr double kMostSlope = 2;

bool finite(const BlockOutcome& outcome) {
  return std::isfinite(outcome.log_cost) && std::isfinite(outcome.log_expected);
}

}  // namespace

BestArm::BestArm(BestArmOptions options) : options_(options) { state_.arms.resize(options_.arms); }

void BestArm::forget(std::size_t arm) {
  if (state_.serving == arm) serve(0);
  const bool worth = state_.arms[arm].worth_a_trial;
  state_.arms[arm] = {};
  state_.arms[arm].worth_a_trial = worth;
  order_.clear();
  stopped_ = stopped_ || arm_ == arm;
}

double BestArm::slope() const {
  return std::clamp((kSlopePrior + state_.products) / (kSlopePrior + state_.squares), 0.0, kMostSlope);
}

std::optional<double> BestArm::excess(const BlockOutcome& outcome) const {
  if (state_.floor.size() < options_.floor_blocks) return std::nullopt;
  double sum = 0;
  for (const FloorBlock& each : state_.floor) sum += each.outcome.log_cost - slope() * each.outcome.log_expected;
  const double usual = sum / static_cast<double>(state_.floor.size());
  return std::expm1(outcome.log_cost - slope() * outcome.log_expected - usual);
}

double BestArm::spent(std::size_t arm) const {
  double sum = 0;
  for (const Spent& each : state_.spent) sum += each.arm == arm ? each.excess : 0;
  return std::max(0.0, sum);
}

double BestArm::spent() const {
  double sum = 0;
  for (std::size_t arm = 1; arm < options_.arms; ++arm) sum += spent(arm);
  return sum;
}

double BestArm::allowed() const {
  return (1 - options_.reserve) * options_.day_loss * static_cast<double>(options_.day_blocks);
}

double BestArm::day_excess() const {
  double sum = 0;
  for (const Spent& each : state_.spent) sum += each.excess;
  return sum / static_cast<double>(options_.day_blocks);
}

bool BestArm::on_trial(std::size_t arm) const {
  const Arm& one = state_.arms[arm];
  return arm != 0 && arm != state_.serving && one.worth_a_trial && state_.blocks >= one.rests_until;
}

NetworkState BestArm::state(std::size_t arm) const {
  if (arm == state_.serving) return NetworkState::in_use;
  if (on_trial(arm)) return NetworkState::on_trial;
  const Arm& one = state_.arms[arm];
  return one.withdrawals > 0 && state_.blocks < one.rests_until ? NetworkState::withdrawn : NetworkState::candidate;
}

std::optional<double> BestArm::difference(std::size_t arm) const {
  const PairedEvidence& evidence = state_.arms[arm].over_floor;
  return evidence.pairs() > 0 ? std::optional(evidence.mean()) : std::nullopt;
}

void BestArm::serve(std::size_t arm) {
  state_.serving = arm;
  for (Arm& each : state_.arms) each.over_serving = {};
}

void BestArm::withdraw(std::size_t arm) {
  Arm& one = state_.arms[arm];
  one.rests_until = state_.blocks + (options_.day_blocks << std::min(one.withdrawals, kMostRests));
  ++one.withdrawals;
  one.tried = 0;
  if (state_.serving == arm) serve(0);
}

bool BestArm::so_far(const BlockOutcome& outcome, double share) {
  if (arm() == 0 || !finite(outcome)) return false;
  const auto more = excess(outcome);
  stopped_ = more && *more * share >= options_.block_loss;
  return stopped_;
}

void BestArm::end(const std::optional<BlockOutcome>& outcome) {
  const std::size_t arm = arm_;
  const bool measured = outcome && finite(*outcome);
  ++state_.blocks;
  const std::optional<double> more = measured ? excess(*outcome) : std::nullopt;
  double counted = arm == 0 ? 0 : more.value_or(options_.block_loss);
  if (stopped_) counted = std::max(counted, options_.block_loss);
  state_.spent.push_back({arm, counted});
  if (state_.spent.size() > options_.day_blocks) state_.spent.pop_front();
  while (!state_.floor.empty() &&
         (state_.floor.size() > kFloorBlocks || state_.blocks - state_.floor.front().number > options_.day_blocks))
    state_.floor.pop_front();
  if (arm == 0 && measured) state_.floor.push_back({state_.blocks, *outcome});
  if (!order_.empty() && measured) outcomes_.push_back(*outcome);
  if (!order_.empty() && !measured) order_.clear();
  if (!order_.empty() && outcomes_.size() == order_.size()) judge();
  if (arm != 0 && state_.blocks >= state_.arms[arm].rests_until && spent(arm) > kArmShare * allowed()) withdraw(arm);
  begin_block();
}

void BestArm::judge_floor() {
  const auto at = static_cast<std::size_t>(std::find(order_.begin(), order_.end(), 0U) - order_.begin());
  const BlockOutcome floor = outcomes_[at];
  if (earlier_floor_) {
    const double change = floor.log_expected - earlier_floor_->log_expected;
    state_.products += change * (floor.log_cost - earlier_floor_->log_cost);
    state_.squares += change * change;
  }
  earlier_floor_ = floor;
}

void BestArm::judge() {
  ++state_.groups;
  std::vector<double> cost(options_.arms, 0.0);
  for (std::size_t i = 0; i < order_.size(); ++i)
    cost[order_[i]] = outcomes_[i].log_cost - slope() * outcomes_[i].log_expected;
  for (const std::size_t arm : order_) {
    if (arm == 0) continue;
    Arm& one = state_.arms[arm];
    one.over_floor.add(cost[arm] - cost[0]);
    one.newest.push_back(cost[arm] - cost[0]);
    if (one.newest.size() > PairedEvidence::kLeast) one.newest.pop_front();
    if (state_.serving != 0 && arm != state_.serving) one.over_serving.add(cost[arm] - cost[state_.serving]);
    ++one.tried;
  }
  judge_floor();
  const std::vector<std::size_t> order = std::exchange(order_, {});
  const bool tried = std::any_of(order.begin(), order.end(), [this](std::size_t arm) { return on_trial(arm); });
  serve_left_ = tried ? 0 : options_.serve_blocks;
  std::optional<std::size_t> best;
  for (const std::size_t arm : order) {
    if (arm == 0) continue;
    Arm& one = state_.arms[arm];
    const auto found = interval(arm);
    const double recent = std::accumulate(one.newest.begin(), one.newest.end(), 0.0);
    if (found && found->low > 0) {
      withdraw(arm);
    } else if (arm == state_.serving) {
      if (one.newest.size() == PairedEvidence::kLeast && recent > 0) {
        one.over_floor = {};
        one.newest.clear();
        serve(0);
      }
    } else if (found && found->high < 0) {
      if (!best || found->mean < state_.arms[*best].over_floor.mean()) best = arm;
    } else if (one.tried >= kTrialGroups) {
      one.rests_until = state_.blocks + options_.day_blocks;
      one.tried = 0;
    }
  }
  if (!best) return;
  const auto over = state_.arms[*best].over_serving.interval(level());
  if (state_.serving == 0 || (over && over->high < 0)) serve(*best);
}

void BestArm::begin_block() {
  stopped_ = false;
  if (order_.empty()) begin_group();
  if (!order_.empty()) {
    arm_ = order_[outcomes_.size()];
    return;
  }
  arm_ = state_.floor.size() < options_.floor_blocks ? 0 : state_.serving;
  if (serve_left_ > 0) --serve_left_;
}

// Opens a group if it is time for one, and the arms may cost as much.
void BestArm::begin_group() {
  outcomes_.clear();
  if (serve_left_ > 0 || state_.floor.size() < options_.floor_blocks) return;
  std::vector<std::size_t> tried;
  for (std::size_t arm = 1; arm < options_.arms; ++arm)
    if (on_trial(arm)) tried.push_back(arm);
  // The arm with the fewest groups is next.
  std::stable_sort(tried.begin(), tried.end(), [this](std::size_t a, std::size_t b) { return groups(a) < groups(b); });
  const double left = allowed() - spent();
  const auto most = static_cast<std::size_t>(std::max(0.0, left / options_.block_loss));
  if (tried.size() > most) tried.resize(most);
  std::vector<std::size_t> members{0};
  if (state_.serving != 0) members.push_back(state_.serving);
  members.insert(members.end(), tried.begin(), tried.end());
  if (members.size() == 1) return;
  order_ = std::move(members);
  Random random(options_.seed ^ (state_.groups + 1) * 0x9e3779b97f4a7c15ULL);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[pick(random, i)]);
}

bool BestArm::restore(State state) {
  const auto sane = [](double value) { return std::isfinite(value); };
  if (state.arms.size() != options_.arms || state.serving >= options_.arms) return false;
  if (state.spent.size() > options_.day_blocks || !(state.squares >= 0) || !sane(state.squares + state.products))
    return false;
  for (const Spent& each : state.spent)
    if (each.arm >= options_.arms || !sane(each.excess)) return false;
  for (const FloorBlock& each : state.floor)
    if (each.number > state.blocks || !finite(each.outcome)) return false;
  state_ = std::move(state);
  order_.clear();
  outcomes_.clear();
  earlier_floor_.reset();
  begin_block();
  return true;
}

}  // namespace wattle::stats
