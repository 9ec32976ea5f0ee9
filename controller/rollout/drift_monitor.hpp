// drift_monitor: does the cluster still behave as it did? What is learned then is explored more for a while.
// Source   rewards less what was predicted of their decision, as means over kBlock of them (placement/drift): single ones come in bursts, as when
//          latencies of several nodes change at once, and are no noise that a test could reckon with; fits of power curves that
//          began anew (placement/power_curve)
// Verdict  shifted: by errors, or when curves of one node in twenty (one at least) began anew within about ten minutes. One shift
//          at a time
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/stats/moments.hpp"
#include "placement/drift.hpp"

namespace wattle::controller {

class DriftMonitor {
 public:
  static constexpr Duration kLasts = std::chrono::minutes(10);
  static constexpr std::size_t kBlock = 10;  // errors of one mean; a block that a restart cuts is lost
  struct State {
    placement::DriftState errors;
    double left_s = 0;  // of the shift that is under way
    std::uint64_t shifts = 0;
  };

  // Each gives evidence of a shift that begins now.
  std::optional<std::string> error(double reward_less_predicted, MonoTime now);
  // `begun_anew`: fits of all `nodes` since the process began; `passed_s` since the last call.
  std::optional<std::string> curves(std::uint64_t begun_anew, std::size_t nodes, double passed_s, MonoTime now);

  bool active(MonoTime now) const { return until_ && now < *until_; }
  // Exploration while one is under way.
  double epsilon(double usual, MonoTime now) const;
  std::uint64_t shifts() const { return shifts_; }
  // Whatever is changed now is not explored against.
  void end() { until_.reset(); }
  // Of another reward errors say nothing.
  void forget_errors() {
    errors_.begin_anew();
    block_ = {};
  }

  State state(MonoTime now) const;
  // False: it is no state that a monitor can be in, and nothing changes.
  bool restore(const State& state, MonoTime now);

 private:
  std::optional<std::string> begin(const char* why, MonoTime now);

  placement::Drift errors_;
  stats::Moments block_;
  std::optional<MonoTime> until_;
  std::uint64_t shifts_ = 0, curves_begun_anew_ = 0;
  double recent_curves_ = 0;
};

}  // namespace wattle::controller
