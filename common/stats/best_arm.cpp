#include "common/stats/best_arm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/stats/draws.hpp"

namespace wattle::stats {

namespace {

constexpr std::size_t kFloorBlocks = 12;  // newest blocks of the floor that determine its cost
constexpr double kFloorDays = 4;          // maximum age of these blocks
constexpr double kPriorDeviation = 0.01;  // standard deviation of block costs before any block is measured
constexpr double kPriorBlocks = 4;        // weight of that prior, in blocks
constexpr std::uint64_t kMostRests = 4;   // doublings of a rest
constexpr double kSlopePrior = 0.2;       // weight of the prior slope 1, as squared changes of the expected cost
constexpr double kMostSlope = 2;
constexpr double kChanged = 2;        // standard errors by which an arm's newest groups cost more than the floor
constexpr double kMostSpent = 0.1;    // of `day_loss`, when an arm gets a part of a block
constexpr double kLeastApart = 0.01;  // smaller differences of shares do not count as evidence

constexpr double kOfMedian = 1.4826, kMedianVariance = 1.5708;  // of normal values

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool finite(const BlockOutcome& outcome) {
  return std::isfinite(outcome.log_cost) && std::isfinite(outcome.log_expected);
}

}  // namespace

BestArm::BestArm(BestArmOptions options) : options_(options), breaks_(options.arms) {
  state_.arms.resize(options_.arms);
}

void BestArm::forget(std::size_t arm) {
  for (Spent& each : state_.spent)
    if (each.arm == arm) each.exposure *= worst(arm) / kWorst;  // keeps its part of the ledger
  if (arm_ == arm) exposure_ *= worst(arm) / kWorst;
  if (state_.serving == arm || (arm == 0 && floor_rests())) serve(0);
  const bool worth = state_.arms[arm].worth_a_trial;
  state_.arms[arm] = {};
  state_.arms[arm].worth_a_trial = worth;
  order_.clear();
  stopped_ = stopped_ || arm_ == arm;
}

double BestArm::slope() const {
  return std::clamp((kSlopePrior + state_.products) / (kSlopePrior + state_.squares), 0.0, kMostSlope);
}

// Medians, because blocks in which a cluster fills up or empties are far from the others.
void BestArm::learn_usual() {
  std::vector<double> values;
  for (const FloorBlock& each : state_.floor) values.push_back(corrected(each.outcome));
  usual_ = {};
  if (values.empty()) return;
  const double middle = median(values);
  for (double& each : values) each = std::abs(each - middle);
  const double deviation = kOfMedian * median(values), known = static_cast<double>(values.size());
  usual_ = {middle, std::sqrt((kPriorBlocks * kPriorDeviation * kPriorDeviation + known * deviation * deviation) /
                              (kPriorBlocks + known))};
}

std::optional<double> BestArm::excess(const BlockOutcome& outcome) const {
  if (state_.floor.size() < options_.floor_blocks) return std::nullopt;
  return std::expm1(corrected(outcome) - usual_.cost);
}

double BestArm::allowed() const {
  return (1 - options_.reserve) * options_.day_loss * static_cast<double>(options_.day_blocks);
}

// The floor's median has an error, too, which all blocks share.
double BestArm::limit(double blocks) const {
  const auto known = static_cast<double>(std::max<std::size_t>(1, state_.floor.size()));
  const double chance = usual_.deviation * std::sqrt(blocks + kMedianVariance * blocks * blocks / known);
  return std::max(allowed() / static_cast<double>(std::max<std::size_t>(2, options_.arms - 1)), kSure * chance);
}

// Returns whether the current arm, with this excess over this share of its block, has cost too much.
bool BestArm::stops(double more, double share) const {
  double blocks = share;
  for (const Spent& each : state_.spent) blocks += each.arm == arm_ ? 1 : 0;
  return arm_ != base() && spent(arm_) + more * share > limit(blocks);
}

double BestArm::spent(std::size_t arm) const {
  double sum = 0;
  for (const Spent& each : state_.spent) sum += each.arm == arm ? each.excess : 0;
  return std::max(0.0, sum);
}

double BestArm::day_excess() const {
  double sum = 0;
  for (const Spent& each : state_.spent) sum += each.excess;
  return sum / static_cast<double>(options_.day_blocks);
}

double BestArm::worst(std::size_t arm) const {
  if (arm == 0 || arm == base()) return 0;
  const double deviation = std::sqrt(2.0) * usual_.deviation;
  double bound = floor_rests() ? kWorst : state_.arms[arm].over_floor.upper(deviation).value_or(kWorst);
  const auto over_serving = state_.arms[arm].over_serving.upper(deviation);
  if (arm != state_.serving && state_.serving != 0 && over_serving)
    bound = std::min(bound, *over_serving + std::log1p(worst(state_.serving)));
  return std::clamp(std::expm1(bound), 0.0, arm == state_.serving ? options_.day_loss : kWorst);
}

double BestArm::ledger() const {
  std::vector<double> exposures(options_.arms);
  for (const Spent& each : state_.spent) exposures[each.arm] += each.exposure;
  double sum = 0;
  for (std::size_t arm = 1; arm < options_.arms; ++arm)
    if (exposures[arm] > 0) sum += exposures[arm] * worst(arm);
  return sum;
}

double BestArm::room(std::size_t arm) const {
  const double block = worst(arm) / static_cast<double>(options_.day_blocks);
  const double left = options_.day_loss - ledger();
  if (block <= std::max(0.0, left)) return 1;
  return block > options_.day_loss && left >= (1 - kMostSpent) * options_.day_loss ? left / block : 0;
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
  return groups(arm) > 0 ? std::optional(evidence(arm).mean()) : std::nullopt;
}

std::size_t BestArm::reference(std::size_t arm) const {
  return arm != state_.serving && state_.arms[arm].over_serving.pairs() > 0 ? state_.serving : 0;
}

const PairedEvidence& BestArm::evidence(std::size_t arm) const {
  return reference(arm) == 0 ? state_.arms[arm].over_floor : state_.arms[arm].over_serving;
}

void BestArm::serve(std::size_t arm) {
  if (arm == 0 && state_.arms[0].rests_until > 0) {
    state_.arms[0].rests_until = 0;
    state_.floor.clear();
    learn_usual();
  }
  state_.serving = arm;
  order_.clear();
  for (Arm& each : state_.arms) {
    each.over_serving = {};
    each.tried = 0;
  }
}

void BestArm::withdraw(std::size_t arm) {
  Arm& one = state_.arms[arm];
  one.rests_until = state_.blocks + (options_.day_blocks << std::min(one.withdrawals, kMostRests));
  ++one.withdrawals;
  one.tried = 0;
  order_.clear();
  if (state_.serving == arm) serve(0);
}

void BestArm::replace_floor(std::size_t arm) {
  serve(arm);
  withdraw(0);
  state_.floor.clear();
  learn_usual();
  begin_block();
}

bool BestArm::so_far(const std::optional<BlockOutcome>& outcome, double share) {
  const std::size_t before = arm();
  exposed_ = exposed_ || (!order_.empty() && arm_ != state_.serving && arm_ != 0 && share >= exposure_);
  if (arm() != base() && outcome && finite(*outcome)) {
    const auto more = excess(*outcome);
    stopped_ = more && stops(*more, share);
  }
  return arm() != before;
}

void BestArm::end(const std::optional<BlockOutcome>& outcome) {
  const std::size_t arm = arm_;
  const bool measured = outcome && finite(*outcome);
  ++state_.blocks;
  const double more = measured && arm != base() ? excess(*outcome).value_or(0) : 0;
  const bool too_dear = arm != base() && (stopped_ || stops(more, 1));
  const double exposure = arm == 0 ? 0 : arm == state_.serving ? 1 : exposure_;
  state_.spent.push_back({arm, more, exposure / static_cast<double>(options_.day_blocks)});
  while (state_.spent.size() > options_.day_blocks) state_.spent.pop_front();
  learn_slope(measured ? outcome : std::nullopt);
  if (arm == base() && measured) state_.floor.push_back({state_.blocks, *outcome});
  const double oldest = static_cast<double>(state_.blocks) - kFloorDays * static_cast<double>(options_.day_blocks);
  while (!state_.floor.empty() &&
         (state_.floor.size() > kFloorBlocks || static_cast<double>(state_.floor.front().number) < oldest))
    state_.floor.pop_front();
  learn_usual();
  if (!order_.empty() && measured) outcomes_.push_back(*outcome);
  if (!order_.empty() && !measured) order_.clear();
  if (!order_.empty() && outcomes_.size() == order_.size()) judge();
  if (too_dear && state_.blocks >= state_.arms[arm].rests_until) withdraw(arm);
  if (state_.arms[0].rests_until > 0 && !floor_rests()) serve(0);
  begin_block();
}

void BestArm::learn_slope(const std::optional<BlockOutcome>& outcome) {
  const bool mixed = stopped_ || exposed_;
  if (outcome && earlier_ && !mixed && earlier_arm_ == arm_) {
    const double change = outcome->log_expected - earlier_->log_expected;
    state_.products += change * (outcome->log_cost - earlier_->log_cost);
    state_.squares += change * change;
  }
  earlier_arm_ = arm_;
  earlier_ = mixed ? std::nullopt : outcome;
}

// Judges the group that has just ended.
void BestArm::judge() {
  ++state_.groups;
  const std::vector<std::size_t> order = std::exchange(order_, {});
  serve_left_ = state_.serving != 0 ? options_.serve_blocks : 0;
  const std::size_t first = order[0] == state_.serving ? 1 : 0;  // the challenger's block
  const std::size_t challenger = order[first];
  const BlockOutcome &tried = outcomes_[first], &served = outcomes_[1 - first];
  double apart = challenger == 0 ? 1 : exposure_;
  if (!tried.placed.empty() && !served.placed.empty())
    apart = (tried.placed[challenger] - served.placed[challenger] + served.placed[state_.serving] -
             tried.placed[state_.serving]) /
            2;
  if (apart >= kLeastApart && judge(challenger, corrected(tried) - corrected(served), apart)) return;
  Arm& one = state_.arms[challenger];
  if (challenger == 0 || ++one.tried < kTrialGroups) return;
  one.rests_until = state_.blocks + options_.day_blocks;
  one.tried = 0;
}

// `difference`: the challenger's cost over that of the arm in use, where `apart` of the pods differ. Returns true for a
// verdict: an arm was withdrawn, or its use began.
bool BestArm::judge(std::size_t challenger, double difference, double apart) {
  const bool with_floor = challenger == 0 || state_.serving == 0;
  const std::size_t judged = challenger == 0 ? state_.serving : challenger;
  Arm& one = state_.arms[judged];
  PairedEvidence& evidence = with_floor ? one.over_floor : one.over_serving;
  const double over = challenger == 0 ? -difference : difference;
  evidence.add(over, apart);
  if (with_floor) {
    one.newest.push_back(over);
    if (one.newest.size() > PairedEvidence::kLeast) one.newest.pop_front();
  }
  const auto found = evidence.interval(level());
  const bool dear = found && found->low > 0;
  const double of_newest = usual_.deviation * std::sqrt(2.0 * static_cast<double>(one.newest.size()));
  const bool lately_dear = challenger == 0 && one.newest.size() == PairedEvidence::kLeast &&
                           std::accumulate(one.newest.begin(), one.newest.end(), 0.0) > kChanged * of_newest;
  if ((dear || lately_dear) && !breaks_[challenger == 0 ? 0 : state_.serving]) {
    withdraw(judged);
    if (dear) return true;
    one.over_floor = {};  // the arm has changed
    one.newest.clear();
    return true;
  }
  if (challenger == 0 || !found || found->high >= 0 || worst(judged) > options_.day_loss) return false;
  serve(judged);
  return true;
}

void BestArm::begin_block() {
  stopped_ = exposed_ = false;
  const bool known = state_.floor.size() >= options_.floor_blocks;
  if (order_.empty()) begin_group();
  if (!order_.empty()) {
    arm_ = order_[outcomes_.size()];
    return;
  }
  arm_ = known ? state_.serving : base();
  if (serve_left_ > 0) --serve_left_;
}

// Opens a group if it is time for one.
void BestArm::begin_group() {
  outcomes_.clear();
  exposure_ = 1;
  if (serve_left_ > 0 || state_.floor.size() < options_.floor_blocks) return;
  std::optional<std::size_t> next;
  const auto order = [this](std::size_t arm) -> std::size_t {
    if (state_.serving == 0 && arm == options_.favoured) return 0;
    const Arm& one = state_.arms[arm == 0 ? state_.serving : arm];
    return 1 + (arm == 0 || state_.serving == 0 ? one.over_floor : one.over_serving).pairs();
  };
  for (std::size_t arm = 0; arm < options_.arms; ++arm) {
    const bool may = arm == 0 ? state_.serving != 0 && !floor_rests() : on_trial(arm) && room(arm) > 0;
    if (may && (!next || order(arm) < order(*next))) next = arm;
  }
  if (!next) return;
  exposure_ = *next == 0 ? 1 : room(*next);
  order_ = {state_.serving, *next};
  Random random(options_.seed ^ (state_.groups + 1) * 0x9e3779b97f4a7c15ULL);
  if (pick(random, 2) == 1) std::swap(order_[0], order_[1]);
}

bool BestArm::restore(State state) {
  const auto sane = [](double value) { return std::isfinite(value); };
  if (state.arms.size() != options_.arms || state.serving >= options_.arms) return false;
  if (state.serving == 0 && state.arms[0].rests_until > 0) return false;
  if (!(state.squares >= 0) || !sane(state.squares + state.products)) return false;
  for (const Spent& each : state.spent)
    if (each.arm >= options_.arms || !sane(each.excess) || !(each.exposure >= 0 && each.exposure <= 1)) return false;
  for (const FloorBlock& each : state.floor)
    if (each.number > state.blocks || !finite(each.outcome)) return false;
  state_ = std::move(state);
  order_.clear();
  outcomes_.clear();
  earlier_.reset();
  serve_left_ = 0;
  learn_usual();
  begin_block();
  return true;
}

}  // namespace wattle::stats
