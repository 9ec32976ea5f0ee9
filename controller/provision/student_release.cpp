#include "controller/provision/student_release.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::controller {

namespace {
constexpr std::uint64_t kTurnsOnTrial = 2, kTurnsInUse = 8;  // one in this many turns is the student's
constexpr std::uint64_t kLeastPairs = 40;                    // before a trial without success ends
constexpr std::size_t kOutOf = 5;                            // nodes' services; one of them may be out
constexpr std::size_t kMostServices = 4096;
}  // namespace

StudentRelease::StudentRelease(TeacherMode mode, std::uint64_t seed)
    : mode_(std::min(mode, TeacherMode::canary)), seed_(seed), trial_(new_trial()) {}

// Mode live would give the student both blocks of most pairs, but where latency is known its teacher serves better.
MarginTrial StudentRelease::new_trial() const { return MarginTrial(mode_, seed_ + version_, kAllowance); }

ReleaseState StudentRelease::saved() const { return {version_, state_, reason_, withdrawn_, trial_.saved()}; }

bool StudentRelease::restore(const ReleaseState& state) {
  const bool stands = state.stage == stats::NetworkState::on_trial || state.stage == stats::NetworkState::in_use;
  if (stands != (state.version > 0 && state.stage != stats::NetworkState::withdrawn)) return false;
  version_ = state.version;
  trial_ = new_trial();
  // A test that cannot be restored starts again, on trial.
  const bool whole = trial_.restore(state.trial) && !trial_.rolled_back();
  state_ = stands && (!whole || !trial_.test().in_use()) ? stats::NetworkState::on_trial : state.stage;
  reason_ = state.reason;
  withdrawn_ = state.withdrawn;
  return true;
}

void StudentRelease::offer(std::uint64_t version) {
  if (version <= version_) return;
  version_ = version;
  state_ = stats::NetworkState::on_trial;
  trial_ = new_trial();
  minutes_.clear();
  out_.clear();
}

std::optional<bool> StudentRelease::next(const std::string& service, const TrialMinute& ended) {
  if (mode_ < TeacherMode::canary || (state_ != stats::NetworkState::on_trial && state_ != stats::NetworkState::in_use))
    return std::nullopt;
  const std::uint64_t minute = minutes_[service]++,
                      turns = state_ == stats::NetworkState::on_trial ? kTurnsOnTrial : kTurnsInUse;
  if ((minute / kTurnMinutes) % turns != turns - 1) {
    trial_.restart(service);
    return std::nullopt;
  }
  bool mine = trial_.next(service, ended);
  if ((minute + 1) % kTurnMinutes == 0) {
    trial_.restart(service);
    mine = false;
  }
  judge();
  return mine && state_ != stats::NetworkState::withdrawn;
}

void StudentRelease::judge() {
  if (trial_.rolled_back()) return withdraw(WithdrawnFor::late);
  if (state_ == stats::NetworkState::in_use && !trial_.test().in_use()) return withdraw(WithdrawnFor::cost);
  if (state_ != stats::NetworkState::on_trial) return;
  if (trial_.test().in_use()) {
    state_ = stats::NetworkState::in_use;
    return;
  }
  const stats::SavedTrial test = trial_.test().saved();
  const double seen = std::min(static_cast<double>(test.blocks), trial_.test().options().memory_blocks);
  const double spread = std::sqrt(std::max(test.mean_square - test.mean * test.mean, 0.0) / std::max(seen, 1.0));
  if (test.blocks >= kLeastPairs && test.mean > 2 * spread) withdraw(WithdrawnFor::cost);
}

void StudentRelease::withdraw(WithdrawnFor reason) {
  state_ = stats::NetworkState::withdrawn;
  reason_ = reason;
  ++withdrawn_;
  minutes_.clear();
}

void StudentRelease::report(const std::string& service, bool out) {
  if (state_ != stats::NetworkState::in_use || (out_.size() >= kMostServices && !out_.contains(service))) return;
  out_[service] = out;
  if (this->out() * kOutOf > out_.size()) withdraw(WithdrawnFor::throttled);
}

void StudentRelease::forget(const std::string& service) {
  minutes_.erase(service);
  out_.erase(service);
  trial_.restart(service);
}

std::size_t StudentRelease::out() const {
  return static_cast<std::size_t>(std::ranges::count_if(out_, [](const auto& each) { return each.second; }));
}

std::string StudentRelease::why() const {
  const std::string pairs = std::to_string(trial_.test().blocks()) + " pairs of blocks";
  switch (state_) {
    case stats::NetworkState::candidate:
      return "no student is trained yet";
    case stats::NetworkState::on_trial:
      return mode_ < TeacherMode::canary ? "it is tried in the modes canary and live"
                                         : "compared with its teacher in " + pairs + " so far";
    case stats::NetworkState::in_use:
      return "shown to cost about as much as its teacher in " + pairs;
    case stats::NetworkState::withdrawn:
      break;
  }
  const std::string next = "; another is trained from newer minutes";
  if (reason_ == WithdrawnFor::late) return "too many of its minutes were over target" + next;
  if (reason_ == WithdrawnFor::throttled) return "nodes report that it let services be throttled too often" + next;
  return "it cost more than its teacher in " + pairs + next;
}

}  // namespace wattle::controller
