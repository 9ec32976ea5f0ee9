// student_release: decides whether nodes get the student, in the states of common/stats/network_trial. A candidate is a
// student that is not trained yet.
// Trial    services whose latency is known take turns between the teacher's comparison and the student's. In its turn
//          (one pair of blocks of margin_trial.hpp) the student has one block, and what serves without it has the
//          other. The student may cost kAllowance more, because nodes without latency can only use throttling instead
// In use   once the test shows this; its turns are then less frequent
// Withdrawn  the test shows that it costs more; or minutes over target roll it back; or nodes report that it let more
//          than a fifth of their services be throttled too often. Only a newer version ends this
// Units    costs as in provision/minute/service_cost.hpp
// Errors   none
// Threads  values; no clock
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/provision/margin_trial.hpp"

namespace wattle::controller {

enum class WithdrawnFor : std::uint8_t { nothing, cost, late, throttled };

// State that must survive a restart.
struct ReleaseState {
  std::uint64_t version = 0;
  stats::NetworkState stage = stats::NetworkState::candidate;
  WithdrawnFor reason = WithdrawnFor::nothing;  // of the last withdrawal
  std::uint64_t withdrawn = 0;                  // number of withdrawals
  TrialState trial;
};

class StudentRelease {
 public:
  static constexpr double kAllowance = 0.05;
  static constexpr std::uint64_t kTurnMinutes = 2 * MarginTrial::kBlockMinutes + 1;  // the first is before both blocks

  StudentRelease(TeacherMode mode, std::uint64_t seed);
  // Returns false, without a change, if no release can have this state.
  bool restore(const ReleaseState& state);
  ReleaseState saved() const;

  // Offers a trained student: a newer version goes on trial.
  void offer(std::uint64_t version);
  // Records an ended minute of a service with known latency. No value: it is not the student's turn, and the teacher's
  // comparison continues. Otherwise returns whether the next minute is the student's.
  std::optional<bool> next(const std::string& service, const TrialMinute& ended);
  // Records whether a student failed its trial on a node, as reported for a service without known latency.
  void report(const std::string& service, bool out);
  void forget(const std::string& service);

  stats::NetworkState state() const { return state_; }
  std::uint64_t version() const { return version_; }
  std::uint64_t withdrawn() const { return withdrawn_; }
  const MarginTrial& trial() const { return trial_; }
  std::size_t services() const { return out_.size(); }  // reported since this version is in use
  std::size_t out() const;
  std::string why() const;

 private:
  void judge();
  void withdraw(WithdrawnFor reason);
  MarginTrial new_trial() const;

  TeacherMode mode_;
  std::uint64_t seed_;
  std::uint64_t version_ = 0, withdrawn_ = 0;
  stats::NetworkState state_ = stats::NetworkState::candidate;
  WithdrawnFor reason_ = WithdrawnFor::nothing;
  MarginTrial trial_;
  std::map<std::string, std::uint64_t> minutes_;
  std::map<std::string, bool> out_;
};

}  // namespace wattle::controller
