// drift: detects a shift in a stream of errors by comparison with their own history.
// Method   two one-sided CUSUMs on (error - mean) / deviation, clipped at 3. Mean and deviation are decaying means over
//          the last `memory` errors. After `least` errors, independent normal errors without a shift raise an alarm
//          less than once in 20,000; a step of one deviation is detected after 20 on average. An alarm resets
//          everything
// Errors   none: values that are not finite are ignored
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

// State to keep over a restart.
struct DriftState {
  double mean = 0, mean_square = 0;  // of the errors and of their squared deviations
  double up = 0, down = 0;
  std::uint64_t seen = 0, shifts = 0;
};

class Drift {
 public:
  explicit Drift(DriftOptions options = {}) : options_(options), cusum_(options.slack, options.limit) {}
  // Returns true if the error shows a shift.
  bool add(double error);
  void begin_anew();
  std::uint64_t shifts() const { return shifts_; }
  double level() const { return cusum_.level(); }
  DriftState state() const { return {mean_, square_, cusum_.up(), cusum_.down(), seen_, shifts_}; }
  // Returns false, without a change, if no monitor can have this state.
  bool restore(const DriftState& state);

 private:
  DriftOptions options_;
  stats::TwoSidedCusum cusum_;
  double mean_ = 0, square_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t shifts_ = 0;
};

}  // namespace wattle::placement
