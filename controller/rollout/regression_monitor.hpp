// regression_monitor: raises an alarm if acting placements have lower rewards than control placements.
// Worse    a one-sided CUSUM on the rewards of acting placements, each as its normal score among the rewards of the
//          last control placements (so that their distribution does not matter). Starts with `least` control rewards.
//          With independent rewards of the same distribution there is less than one alarm in 20,000 placements; a
//          decrease by one standard deviation is detected after 20 on average. Correlated rewards raise more alarms
// Units    rewards
// Errors   none: a control reward that is not finite is ignored; an acting one counts as the worst possible
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/stats/cusum.hpp"

namespace wattle::controller {

struct RegressionOptions {
  double slack = 0.5;                    // standard deviations that are tolerated per placement
  double limit = 10.0;                   // sum of the excess that raises an alarm
  std::size_t least = 500, most = 2000;  // control rewards for the comparison
};

class RegressionMonitor {
 public:
  // State that must survive a restart.
  struct State {
    double level = 0;
    std::uint64_t judged = 0;
    std::vector<double> control;  // oldest first
  };
  explicit RegressionMonitor(RegressionOptions options = {})
      : options_(options), cusum_(options.slack, options.limit) {}
  void control(double reward);
  // Returns true to raise an alarm.
  bool acting(double reward);
  // Call for another policy, mode or reward: resets the sum. Also drops the control rewards if they are of another
  // kind.
  void restart(bool forget_control);

  State state() const { return {level(), judged_, {controls_.begin(), controls_.end()}}; }
  // Returns false if the state is invalid; the monitor is then unchanged.
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
