// margin_trial: which minutes of a service are the teacher's and which the rule's, and whether that has shown that the teacher costs less.
// Blocks   of fifteen minutes in pairs, one the teacher's and one the rule's, which first is drawn; the first three minutes of each are
//          washed out. A block counts for whom it was drawn for, whatever came into force in it
// Test     of each pair what a minute cost beyond its need, teacher's less rule's (placement/sequential_test), all services in one test:
//          the teacher begins unheard. Heard and in mode live, three pairs of four are the teacher's alone
// Guards   a minute in which more than a twentieth of the requests was late gives its service to the rule until the block ends. The
//          teacher is rolled back, to mode shadow, once more than a twentieth of its minutes were over target, and that many more of a
//          hundred than of the rule's (faded means); only another mode in the configuration ends that
// Units    costs as models/provision/service_cost.hpp; shares
// Errors   none
// Threads  values; no clock
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "placement/sequential_test.hpp"

namespace wattle::controller {

enum class TeacherMode : std::uint8_t { off, shadow, canary, live };
std::string_view to_string(TeacherMode mode);

// Faded means of one side's minutes.
struct TrialSide {
  double minutes = 0;     // told, not faded
  double waste = 0;       // cost beyond need
  double over_ratio = 0;  // of minutes in which more than a hundredth of the requests was late
};

// What a restart must not forget.
struct TrialState {
  placement::SequentialTestState test{.network_gated = true};
  TrialSide rule, teacher;
  std::uint64_t pairs = 0;
  bool rolled_back = false;
  TeacherMode mode = TeacherMode::off;  // in the configuration
};

struct TrialMinute {
  double waste = 0;
  double over_ratio = 0;  // of its requests
};

class MarginTrial {
 public:
  static constexpr int kBlockMinutes = 15, kWashedOut = 3;

  MarginTrial(TeacherMode mode, std::uint64_t seed);
  // A state of another mode is one without a rollback.
  bool restore(const TrialState& state);
  TrialState state() const;

  // The configuration's, or shadow after a rollback.
  TeacherMode mode() const;
  bool rolled_back() const { return rolled_back_; }
  // In mode canary and live: it has shown that it costs less.
  bool heard() const { return !test_.network_gated(); }
  const placement::SequentialTest& test() const { return test_; }

  // A minute of the service has ended. True: the next one is the teacher's.
  bool next(const std::string& service, const TrialMinute& ended);
  // The teacher's block, but the rule's since a minute with too many late requests.
  bool guarded(const std::string& service) const;
  // What comes does not follow what was.
  void begin_anew(const std::string& service) { services_.erase(service); }

 private:
  struct Pair {
    std::uint64_t number = 0;
    int minute = 0;  // of both blocks
    bool compared = true, teacher_first = false, guarded = false;
    double waste[2] = {};  // of the rule's, of the teacher's
    int minutes[2] = {};
  };
  void draw(const std::string& service, Pair& pair) const;
  bool of_teacher(const Pair& pair) const;
  void count(const Pair& pair, const TrialMinute& ended);

  const TeacherMode configured_;
  const std::uint64_t seed_;
  placement::SequentialTest test_;
  TrialSide rule_, teacher_;
  std::uint64_t pairs_ = 0;
  bool rolled_back_ = false;
  std::map<std::string, Pair> services_;
};

}  // namespace wattle::controller
