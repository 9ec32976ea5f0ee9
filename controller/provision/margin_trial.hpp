// margin_trial: assigns the minutes of a service to the teacher or to the rule, and tests whether the teacher costs
// less.
// Blocks   fifteen minutes each, in pairs of one block of the teacher and one of the rule in random order. The first
//          three minutes of each are discarded. A block counts for the side that it was drawn for, even if the other
//          side took over
// Test     per pair, the cost of a minute beyond its need, teacher minus rule (common/stats/network_trial), with
//          all services in one test. The teacher starts on trial. In mode live, once it is in use, it has both blocks
//          of three pairs in four
// Guards   after a minute with more than a twentieth of its requests late, the rule has the service until the block
//          ends. The teacher is withdrawn (mode shadow) if over a twentieth of its minutes were over target and its
//          rate exceeds the rule's by as much (faded means). Only another mode in the configuration ends the rollback
// Units    costs as in provision/minute/service_cost.hpp; shares
// Errors   none
// Threads  values; no clock
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/stats/network_trial.hpp"

namespace wattle::controller {

enum class TeacherMode : std::uint8_t { off, shadow, canary, live };
std::string_view to_string(TeacherMode mode);

// Exponentially faded means of one side's minutes.
struct TrialSide {
  double minutes = 0;     // number of minutes, not faded
  double waste = 0;       // cost beyond need
  double over_ratio = 0;  // share of minutes with more than a hundredth of their requests late
};

// State that must survive a restart.
struct TrialState {
  stats::SavedTrial test{.network_gated = true};
  TrialSide rule, teacher;
  std::uint64_t pairs = 0;
  bool rolled_back = false;
  TeacherMode mode = TeacherMode::off;  // configured mode
};

struct TrialMinute {
  double waste = 0;
  double over_ratio = 0;  // of its requests
};

class MarginTrial {
 public:
  static constexpr int kBlockMinutes = 15, kWashedOut = 3;

  // `allowance`: cost of a minute that the teacher may have beyond the rule's and still pass.
  MarginTrial(TeacherMode mode, std::uint64_t seed, double allowance = 0);
  // A state of another mode is restored without its rollback.
  bool restore(const TrialState& state);
  TrialState saved() const;
  // candidate in modes off and shadow; on_trial while it takes turns with the rule; withdrawn after a rollback.
  stats::NetworkState state() const;

  // The configured mode, or shadow after a rollback.
  TeacherMode mode() const;
  bool rolled_back() const { return rolled_back_; }
  const stats::NetworkTrial& test() const { return test_; }

  // Records an ended minute of the service. Returns true if the next one belongs to the teacher.
  bool next(const std::string& service, const TrialMinute& ended);
  // True if the block is the teacher's, but the rule serves after a minute with too many late requests.
  bool guarded(const std::string& service) const;
  // Starts a new sequence: the next minute does not follow the last.
  void restart(const std::string& service) { services_.erase(service); }

 private:
  struct Pair {
    std::uint64_t number = 0;
    int minute = 0;  // within both blocks
    bool compared = true, teacher_first = false, guarded = false;
    double waste[2] = {};  // of the rule, of the teacher
    int minutes[2] = {};
  };
  void draw(const std::string& service, Pair& pair) const;
  bool of_teacher(const Pair& pair) const;
  void count(const Pair& pair, const TrialMinute& ended);

  TeacherMode configured_;
  std::uint64_t seed_;
  double allowance_;
  stats::NetworkTrial test_;
  TrialSide rule_, teacher_;
  std::uint64_t pairs_ = 0;
  bool rolled_back_ = false;
  std::map<std::string, Pair> services_;
};

}  // namespace wattle::controller
