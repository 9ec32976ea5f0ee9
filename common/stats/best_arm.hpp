// best_arm: chooses for each block of time which of several arms serves, by what the blocks cost. Arm 0 is the floor.
// The cost of trying the others is bounded.
// Groups   an arm on trial gets one block in each group. A group also has a block of the floor and one of the arm in
//          use, all in random order. The differences within a group are the evidence (paired_evidence), valid at any
//          time. The probability that an arm is ever called better than the floor without being better is at most
//          `alpha` over all arms
// Expected a block's cost is corrected for its load by its expected cost: log cost - slope x log expected cost. The
//          slope comes from earlier blocks of the floor, so a wrong expectation costs precision but favours no arm
// States   as of a network (network_trial). An arm is in use when its interval lies below the floor's cost, and below
//          that of the arm in use before. It is withdrawn when its interval lies above, or when it has cost too much;
//          it rests for a day, then twice as long each time. An arm in use returns to its trial when its newest kLeast
//          groups cost more than the floor. Without a verdict after kTrialGroups, an arm rests for a day
// Bound    over the newest `day_blocks`, all arms together may cost `day_loss` of a day more than the floor. A group
//          begins only if the cost so far and block_loss for each arm on trial are within that. The floor takes over
//          for the rest of a block that has cost block_loss more. An unmeasured block counts as block_loss. The bound
//          is of measured costs: their error, and costs that a block causes later, are outside of it
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
  double day_loss = 0.005;       // allowed loss of all arms, as a share of a day's cost
  double block_loss = 0.05;      // loss that ends an arm's block, as a share of the block's cost
  double reserve = 0.25;         // part of the day's loss that is kept for the error of measured costs
  std::size_t floor_blocks = 4;  // measured blocks of the floor before a group, in the newest day
  std::size_t serve_blocks = 4;  // between groups, while no arm is on trial
};

struct BlockOutcome {
  double log_cost = 0, log_expected = 0;
};

class BestArm {
 public:
  static constexpr std::size_t kTrialGroups = 24;

  struct Arm {
    bool worth_a_trial = false;
    PairedEvidence over_floor, over_serving;
    std::deque<double> newest;  // differences from the floor, oldest first, at most PairedEvidence::kLeast
    std::uint64_t rests_until = 0, withdrawals = 0, tried = 0;  // a block's number; groups since it rested
  };
  struct Spent {
    std::size_t arm = 0;
    double excess = 0;
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
    std::deque<FloorBlock> floor;      // oldest first
    double products = 0, squares = 0;  // of changes between blocks of the floor, for the slope
  };

  explicit BestArm(BestArmOptions options = {});

  // The arm is worth a trial, or not. An arm in use stays in use.
  void offer(std::size_t arm, bool worth_a_trial) { state_.arms[arm].worth_a_trial = worth_a_trial; }
  // Withdraws the arm for another reason than its cost.
  void reject(std::size_t arm) { withdraw(arm); }
  // Drops the evidence of an arm that has become another one.
  void forget(std::size_t arm);

  // Returns the arm of the present block.
  std::size_t arm() const { return stopped_ ? 0 : arm_; }
  // Reports the present block's outcome so far, of this share of the block. Returns true if the floor takes over now.
  bool so_far(const BlockOutcome& outcome, double share);
  // Ends the present block; no value: it was not measured.
  void end(const std::optional<BlockOutcome>& outcome);

  std::size_t serving() const { return state_.serving; }
  NetworkState state(std::size_t arm) const;
  // Cost over the floor's, as a difference of logarithms; no value before the first group.
  std::optional<double> difference(std::size_t arm) const;
  std::optional<Interval> interval(std::size_t arm) const { return state_.arms[arm].over_floor.interval(level()); }
  std::uint64_t groups(std::size_t arm) const { return state_.arms[arm].over_floor.pairs(); }
  // Measured cost of all arms over the floor's in the newest day, as a share of a day's cost.
  double day_excess() const;
  std::uint64_t blocks() const { return state_.blocks; }
  const BestArmOptions& options() const { return options_; }

  const State& saved() const { return state_; }
  // Returns false, without a change, if the state is invalid.
  bool restore(State state);

 private:
  double level() const { return options_.alpha / static_cast<double>(options_.arms - 1); }
  double slope() const;
  std::optional<double> excess(const BlockOutcome& outcome) const;
  double spent(std::size_t arm) const;
  double spent() const;
  double allowed() const;
  bool on_trial(std::size_t arm) const;
  void withdraw(std::size_t arm);
  void serve(std::size_t arm);
  void judge();
  void judge_floor();
  void begin_block();
  void begin_group();

  BestArmOptions options_;
  State state_;
  std::size_t arm_ = 0;
  bool stopped_ = false;
  std::vector<std::size_t> order_;      // arms of the open group; empty: none is open
  std::vector<BlockOutcome> outcomes_;  // of its blocks so far
  std::size_t serve_left_ = 0;
  std::optional<BlockOutcome> earlier_floor_;  // of the previous group
};

}  // namespace wattle::stats
