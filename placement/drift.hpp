// drift: do errors still look as they did? What they are compared with is learned from themselves.
// Method   two one-sided CUSUMs on (error - mean) / deviation, cut at 3; mean and deviation are of the last `memory` errors,
//          faded. Once `least` are known, independent normal errors that do not change alarm less than once in 20,000; a step of
//          one deviation is noticed after 20 on average. After an alarm everything is learned anew
// Errors   none: what is no number is not added
// Threads  value, single owner
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/stats/cusum.hpp"

namespace wattle::placement {

struct DriftOptions {
  double slack = 0.5, limit = 10;
  double memory = 500;
  std::size_t least = 50;
};

// What a restart must not forget.
struct DriftState {
  double mean = 0, mean_square = 0;  // of the errors, about their mean
  double up = 0, down = 0;
  std::uint64_t seen = 0, shifts = 0;
};

class Drift {
 public:
  explicit Drift(DriftOptions options = {}) : options_(options), cusum_(options.slack, options.limit) {}
  // True: a shift.
  bool add(double error);
  void begin_anew();
  std::uint64_t shifts() const { return shifts_; }
  double level() const { return cusum_.level(); }
  DriftState state() const { return {mean_, square_, cusum_.up(), cusum_.down(), seen_, shifts_}; }
  // False: it is no state that a monitor can be in, and nothing changes.
  bool restore(const DriftState& state);

 private:
  DriftOptions options_;
  stats::TwoSidedCusum cusum_;
  double mean_ = 0, square_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t shifts_ = 0;
};

}  // namespace wattle::placement
