// drift_monitor: detects that the cluster's behaviour has changed. The controller then explores more for a while.
// Source   rewards minus their predictions at decision time, as means over kBlock of them (placement/judge/drift).
//          Single errors come in bursts, as when the latencies of several nodes change at once, so they are not
//          independent noise. Also refits of power curves (placement/cluster/power_curve)
// Verdict  shifted: by errors, or if the curves of one node in twenty (at least one) were refitted within about ten
//          minutes. One shift at a time
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/stats/moments.hpp"
#include "placement/judge/drift.hpp"

namespace wattle::controller {

class DriftMonitor {
 public:
  static constexpr Duration kLasts = std::chrono::minutes(10);
  static constexpr std::size_t kBlock = 10;  // errors per mean; a restart drops a started block
  struct State {
    placement::DriftState errors;
    double left_s = 0;  // of the current shift
    std::uint64_t shifts = 0;
  };

  // Returns evidence if a shift begins now.
  std::optional<std::string> error(double reward_less_predicted, MonoTime now);
  // The first argument is the number of refits over all `nodes` since the process started; `passed_s`: time since the
  // last call.
  std::optional<std::string> curves(std::uint64_t begun_anew, std::size_t nodes, double passed_s, MonoTime now);

  bool active(MonoTime now) const { return until_ && now < *until_; }
  // Exploration rate during a shift.
  double epsilon(double usual, MonoTime now) const;
  std::uint64_t shifts() const { return shifts_; }
  // Ends the shift, for example because the spec changes.
  void end() { until_.reset(); }
  // Call after a change of the reward, which makes earlier errors meaningless.
  void forget_errors() {
    errors_.begin_anew();
    block_ = {};
  }

  State state(MonoTime now) const;
  // Returns false if the state is invalid; the monitor is then unchanged.
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
