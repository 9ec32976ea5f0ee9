// regression_monitor: does what acts do worse than what it is measured against?
// Worse    a one-sided CUSUM on rewards of placements while acting, each as its normal score among the rewards of the last
//          control placements (so that their distribution does not matter). It begins when `least` of those are known.
//          With independent rewards of the same distribution there is less than one alarm in 20,000 placements; a
//          standard deviation less is noticed after 20 on average. Rewards that hang together alarm more often
// Units    rewards
// Errors   none: a control reward that is no number is not taken, one while acting is the worst there is
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/stats/cusum.hpp"

namespace wattle::controller {

struct RegressionOptions {
  double slack = 0.5;                    // standard deviations that are not held against it, each time
  double limit = 10.0;                   // sum of the others at which it alarms
  std::size_t least = 500, most = 2000;  // control rewards that it is judged by
};

class RegressionMonitor {
 public:
  // What a restart must not forget.
  struct State {
    double level = 0;
    std::uint64_t judged = 0;
    std::vector<double> control;  // oldest first
  };
  explicit RegressionMonitor(RegressionOptions options = {})
      : options_(options), cusum_(options.slack, options.limit) {}
  void control(double reward);
  // True: alarm.
  bool acting(double reward);
  // Another policy, mode or reward: what was summed up is about something else. Rewards of another kind are forgotten.
  void begin_anew(bool forget_control);

  State state() const { return {level(), judged_, {controls_.begin(), controls_.end()}}; }
  // False: it is no state that a monitor can be in, and nothing changes.
  bool restore(const State& state);

  bool ready() const { return sorted_.size() >= options_.least; }
  double level() const { return cusum_.level(); }
  const RegressionOptions& options() const { return options_; }
  std::size_t controls() const { return sorted_.size(); }
  std::uint64_t judged() const { return judged_; }

 private:
  RegressionOptions options_;
  std::deque<double> controls_;  // oldest first
  std::vector<double> sorted_;
  stats::Cusum cusum_;
  std::uint64_t judged_ = 0;
};

}  // namespace wattle::controller
