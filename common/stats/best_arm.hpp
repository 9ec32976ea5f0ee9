// best_arm: chooses for each block of time which of several arms serves, by the cost of the blocks. Arm 0 is the floor.
// The cost of trying the other arms is bounded.
// Start    the floor serves `floor_blocks`, as a reference, and until measured blocks show that another arm costs less.
//          Prior evidence (`favoured`) only puts an arm first in the order of trials
// Groups   of two blocks in random order: the arm in use, and the challenger with the fewest groups. The floor is a
//          challenger, too. While another arm than the floor is in use, it serves `serve_blocks` after each group
// Ledger   of the most that the arms may have cost in the newest day. Each block of an arm has an exposure: the share
//          of the day in which the arm decided. An exposure costs at most its product with the arm's upper bound
//          (`worst`): the bound of its measured cost over the floor's, or kWorst while that is not lower. A
//          challenger's block begins only if the ledger then stays within `day_loss`. If no whole block fits, the
//          arm gets a part of one, once the ledger is almost free, and the arm in use decides the remaining part. An
//          arm in use counts at most `day_loss`, because its upper bound was not above that when its use began
// Carried  pods outlive their block, so a block's cost also shows earlier placements. A block reports the share of
//          running pods that each arm placed. The difference of a group's costs is divided by the difference of these
//          shares, which makes it unbiased where costs are linear in the shares, and weighted by it
// Evidence the differences, valid at any time (paired_evidence). While the arm in use stays the same, the probability
//          that any challenger is ever called better without being better is at most `alpha`. Each change of the arm in
//          use starts new comparisons, and so does an arm that becomes worse
// Expected a block's cost is corrected for its load by its expected cost: log cost - slope x log expected. The slope
//          comes from neighbouring blocks of the same arm, so a wrong expectation costs precision but favours no arm
// States   as of a network (network_trial). A challenger is in use when its interval lies below the cost of the arm in
//          use. It is withdrawn when its interval lies above, or when it has cost too much; it rests for a day, then
//          twice as long each time. The same rules withdraw the arm in use. It is also withdrawn when its newest
//          kLeast groups with the floor cost more by two standard errors. Without a verdict after kTrialGroups, a
//          challenger rests for a day
// Stop     the floor takes over at once when an arm's measured cost in the newest day exceeds both its part of
//          `day_loss` and kSure standard errors of that cost. The arm is withdrawn
// Bound    the ledger bounds the expected cost over the floor's in a day by `day_loss`, for arms that do not change and
//          cost at most 1 + kWorst times as much as the floor. The tests measure the mean of the worst day. A single
//          day may cost more: the upper bound is too low at some time in up to a quarter of the clusters. An arm in use
//          that becomes worse costs its difference until a rule stops it
// Budget   the cost of an arm that breaks a budget is not comparable: other arms are not withdrawn for costing more
//          than it. The caller may replace such a floor by an arm that keeps the budget (replace_floor). That arm then
//          takes the floor's part: the bound and the ledger hold over it, from its own blocks. The floor rests for a
//          day, then twice as long each time; after that it serves again, as at the start
// Limits   costs that are not linear in the shares of pods, such as those of nodes that one pod keeps awake, bias a
//          difference and thus the ledger
// Units    costs per unit of work in any unit; excess as a share of a block's cost
// Errors   none: outcomes that are not finite count as not measured
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/stats/interval.hpp"
#include "common/stats/network_trial.hpp"
#include "common/stats/paired_evidence.hpp"

namespace wattle::stats {

struct BestArmOptions {
  std::size_t arms = 2;
  std::uint64_t seed = 1;
  double alpha = 0.05;
  std::size_t day_blocks = 48;
  std::size_t favoured = 0;      // by prior evidence; 0: none
  double day_loss = 0.005;       // allowed loss of all arms, as a share of a day's cost; > 0
  double reserve = 0.4;          // part of it that is kept for the error of measured costs when an arm is stopped
  std::size_t floor_blocks = 4;  // measured blocks of the floor before another arm
  std::size_t serve_blocks = 4;  // of an arm other than the floor, between groups
};

struct BlockOutcome {
  double log_cost = 0, log_expected = 0;
  std::vector<double> placed = {};  // shares of running pods, by the arm that placed them; empty: all by this block's
};

class BestArm {
 public:
  static constexpr std::size_t kTrialGroups = 24;
  static constexpr double kWorst = 0.75, kSure = 3;

  struct Arm {
    bool worth_a_trial = false;
    PairedEvidence over_floor, over_serving;
    std::deque<double> newest;  // over_floor's, oldest first, at most PairedEvidence::kLeast
    std::uint64_t rests_until = 0, withdrawals = 0, tried = 0;  // a block's number; groups since it rested
  };
  struct Spent {
    std::size_t arm = 0;
    double excess = 0, exposure = 0;  // its cost relative to the floor's; the share of a day in which the arm decided
  };
  struct FloorBlock {
    std::uint64_t number = 0;
    BlockOutcome outcome;
  };
  // State to keep over a restart; an open group is lost.
  struct State {
    std::vector<Arm> arms;
    std::size_t serving = 0;
    std::uint64_t blocks = 0, groups = 0;
    std::deque<Spent> spent;           // of the newest day, oldest first
    std::deque<FloorBlock> floor;      // oldest first; of the arm in its place while it rests
    double products = 0, squares = 0;  // of changes between neighbouring blocks, for the slope
  };

  explicit BestArm(BestArmOptions options = {});

  // Sets whether the arm is worth a trial. An arm in use stays in use.
  void offer(std::size_t arm, bool worth_a_trial) { state_.arms[arm].worth_a_trial = worth_a_trial; }
  // Sets the arm that prior evidence favours, starting with the next group; 0: none.
  void favour(std::size_t arm) { options_.favoured = arm; }
  // Withdraws the arm for a reason other than its cost.
  void reject(std::size_t arm) {
    withdraw(arm);
    stopped_ = stopped_ || arm_ == arm;
  }
  void set_breaks_budget(std::size_t arm, bool breaks) { breaks_[arm] = breaks; }
  // Puts this arm in the place of the floor, which rests.
  void replace_floor(std::size_t arm);
  // Drops the evidence on an arm that was replaced.
  void forget(std::size_t arm);
  void set_day_blocks(std::size_t blocks) { options_.day_blocks = blocks; }

  // Returns the arm that decides now.
  std::size_t arm() const { return stopped_ ? base() : exposed_ ? state_.serving : arm_; }
  // Share of the current group's blocks in which a challenger decides; 1 outside of groups.
  double exposure() const { return exposure_; }
  // Reports that this share of the current block has passed, and its outcome so far, if measured. Returns true if
  // another arm decides now.
  bool so_far(const std::optional<BlockOutcome>& outcome, double share);
  // Ends the current block; no value: it was not measured.
  void end(const std::optional<BlockOutcome>& outcome);

  std::size_t serving() const { return state_.serving; }
  NetworkState state(std::size_t arm) const;
  // The arm that `arm` is compared with: the one in use if there are groups with it, or else the floor.
  std::size_t reference(std::size_t arm) const;
  // Cost over the reference's, as a difference of logarithms; no value before the first group.
  std::optional<double> difference(std::size_t arm) const;
  std::optional<Interval> interval(std::size_t arm) const { return evidence(arm).interval(level()); }
  // The cost over the floor's of a block with this outcome, as a share; no value before the floor has served enough.
  std::optional<double> excess(const BlockOutcome& outcome) const;
  std::uint64_t groups(std::size_t arm) const { return evidence(arm).pairs(); }
  // Measured cost of all arms over the floor's in the newest day, as a share of a day's cost.
  double day_excess() const;
  // Most that a day of the arm may cost over a day of the floor, as a share: the upper bound of its measured cost.
  double worst(std::size_t arm) const;
  // Most that all arms may have cost over the floor in the newest day, as a share of a day's cost.
  double ledger() const;
  std::uint64_t blocks() const { return state_.blocks; }
  const BestArmOptions& options() const { return options_; }

  const State& saved() const { return state_; }
  // Returns false, without a change, if the state is invalid.
  bool restore(State state);

 private:
  double level() const { return options_.alpha / static_cast<double>(options_.arms - 1); }
  const PairedEvidence& evidence(std::size_t arm) const;
  bool floor_rests() const { return state_.blocks < state_.arms[0].rests_until; }
  // The arm that the bound compares with: the floor, or the arm in its place.
  std::size_t base() const { return floor_rests() ? state_.serving : 0; }
  struct Usual {
    double cost = 0, deviation = 0;  // median and standard deviation of the floor's blocks; 0 without blocks
  };
  void learn_usual();
  double allowed() const;  // loss in a day
  double slope() const;
  double corrected(const BlockOutcome& outcome) const { return outcome.log_cost - slope() * outcome.log_expected; }
  // Cost of an arm in the newest day.
  double spent(std::size_t arm) const;
  // Most that an arm may cost over the floor in a day, given how many blocks of it the newest day has.
  double limit(double blocks) const;
  bool stops(double more, double share) const;
  bool on_trial(std::size_t arm) const;
  // Share of a block that the arm may decide; 0: none now.
  double room(std::size_t arm) const;
  void withdraw(std::size_t arm);
  void serve(std::size_t arm);
  void learn_slope(const std::optional<BlockOutcome>& outcome);
  void judge();
  bool judge(std::size_t challenger, double difference, double apart);
  void begin_block();
  void begin_group();

  BestArmOptions options_;
  State state_;
  Usual usual_;  // of state_
  std::size_t arm_ = 0;
  bool stopped_ = false, exposed_ = false;  // base() decides the remaining block; the arm in use does
  std::vector<bool> breaks_;                // a budget, by arm
  double exposure_ = 1;                     // of the challenger's block
  std::vector<std::size_t> order_;          // arms of the open group; empty: none is open
  std::vector<BlockOutcome> outcomes_;      // of its blocks so far
  std::size_t serve_left_ = 0;
  std::size_t earlier_arm_ = 0;          // of the previous block
  std::optional<BlockOutcome> earlier_;  // if it was measured, and not stopped
};

}  // namespace wattle::stats
