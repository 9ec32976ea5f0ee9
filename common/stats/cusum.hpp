// cusum: a cumulative sum that detects when scores become larger (Page 1954).
// Source   scores whose mean is at most `slack` while nothing has changed
// Gives    level = max(0, level + score - slack); an alarm while the level is above the limit. The caller resets it
//          after an alarm
// Units    those of the scores; standard deviations if the scores are standardised
// Errors   none; the caller must keep out NaN
// Threads  values
#pragma once

#include <algorithm>

namespace wattle::stats {

class Cusum {
 public:
  Cusum(double slack, double limit, double level = 0) : slack_(slack), limit_(limit), level_(level) {}
  // Returns true on alarm.
  bool add(double score) {
    level_ = std::max(0.0, level_ + score - slack_);
    return level_ > limit_;
  }
  void restart() { level_ = 0; }
  double level() const { return level_; }
  double limit() const { return limit_; }

 private:
  double slack_, limit_, level_;
};

// Detects that scores have risen or fallen.
class TwoSidedCusum {
 public:
  TwoSidedCusum(double slack, double limit, double up = 0, double down = 0)
      : up_(slack, limit, up), down_(slack, limit, down) {}
  bool add(double score) {
    const bool up = up_.add(score), down = down_.add(-score);
    return up || down;
  }
  void restart() {
    up_.restart();
    down_.restart();
  }
  double up() const { return up_.level(); }
  double down() const { return down_.level(); }
  double level() const { return std::max(up(), down()); }

 private:
  Cusum up_, down_;
};

}  // namespace wattle::stats
