// candidate_trials: measures in blocks of time which candidate costs the least energy per unit of work, and chooses the
// one that serves (common/stats/best_arm). Runs wherever decisions act, live and in simulation.
// Tries    the candidates of kCandidates, the floor first; the caller offers those that exist. A certified baseline is
//          tried before the others, because measurements on other fleets suggest that it will win. A candidate is put
//          in use only after measurements on this cluster
// Block    twice the time in which half of the running pods are replaced, but at least `length` and at most an eighth
//          of a day. That time follows from the share of running pods, by requested cores, that were placed in the last
//          block. The first half of a block does not count. If a challenger gets only a part of a block, the first half
//          of that part does not count
// Carried  the pods placed in earlier blocks count for the candidates that placed them (best_arm)
// Cost     joules of all nodes per core-second that workloads used. The expected cost assumes that energy does not
//          depend on the used cores, which best_arm's slope corrects. It reduces the variance and never decides
// Excludes blocks with measured watts for less than 95% of node time, with less than 90% of the time observed, or with
//          less than a tenth of a core used on average
// Waiting  known after kLeastWaitBlocks blocks in which a candidate had placed most of the running pods. A candidate
//          that breaks the limit (kOverWait) is withdrawn, regardless of its saving, if its pods waited longer than
//          with the floor, or kOverWait times as long as with another candidate. If the floor breaks the limit, the
//          candidate that keeps it at the least cost replaces the floor (best_arm); if none does, one with far less
//          waiting
// Units    in names
// Errors   restore: false for invalid state
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/stats/best_arm.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

enum class Candidate : std::uint8_t { floor, planner, baseline, learned };
inline constexpr std::array<Candidate, 4> kCandidates{Candidate::floor, Candidate::planner, Candidate::baseline,
                                                      Candidate::learned};
inline constexpr const char* kFloorPolicy = "node-order-costs";
inline bool is_network(Candidate candidate) { return candidate >= Candidate::baseline; }

struct TrialOptions {
  bool on = false;                             // false: the policy decides without a trial
  Duration length = std::chrono::minutes(30);  // minimum
  Duration day = std::chrono::hours(24);
  std::uint64_t seed = 1;
};

// Shares of pods' time that they waited; no value while unknown.
struct WaitNow {
  std::optional<double> ratio, limit;
};

class CandidateTrials {
 public:
  static constexpr std::uint64_t kLeastWaitBlocks = 3, kMostWaitBlocks = 24;  // older ones fade
  static constexpr int kLeastBlocksOfDay = 8;

  struct Waited {
    double sum = 0;
    std::uint64_t blocks = 0;
    void add(double ratio) {
      if (blocks == kMostWaitBlocks) sum -= sum / static_cast<double>(blocks--);
      sum += ratio;
      ++blocks;
    }
    std::optional<double> mean() const {
      return blocks > 0 ? std::optional(sum / static_cast<double>(blocks)) : std::nullopt;
    }
  };
  struct State {
    stats::BestArm::State arms;
    std::vector<Waited> waited;  // by candidate
  };

  explicit CandidateTrials(TrialOptions options = {});
  // While inactive no time passes and nothing is measured.
  void set_active(bool active);
  bool active() const { return active_; }
  bool on() const { return options_.on; }

  void offer(Candidate candidate, bool worth_a_trial) { arms_.offer(index(candidate), worth_a_trial); }
  // Sets whether the baseline is certified by measurements elsewhere, so that it is tried first. Default: true.
  void favour_baseline(bool certified) { arms_.favour(certified ? index(Candidate::baseline) : 0); }
  // Drops the evidence on a network that is replaced.
  void forget(Candidate candidate);
  // Call for all pods, also while inactive. Pods that start before the first block belong to no candidate.
  void on_pod_started(std::uint64_t pod, double cores);
  void on_pod_ended(std::uint64_t pod);
  // Call about once a second while active. Returns true if the serving candidate changed.
  bool watch(const ClusterView& view, const WaitNow& wait);

  // The floor's policy, "planner", "baseline" or "learned".
  std::string_view name(Candidate candidate) const;
  // The candidate that decides now; while inactive, the one in use.
  Candidate serves() const { return active_ ? kCandidates[arms_.arm()] : in_use(); }
  // The candidate that serves between trials.
  Candidate in_use() const { return kCandidates[arms_.serving()]; }
  stats::NetworkState state(Candidate candidate) const { return arms_.state(index(candidate)); }
  // The candidate that this one is compared with: the one in use, or the floor.
  Candidate reference(Candidate candidate) const { return kCandidates[arms_.reference(index(candidate))]; }
  // Energy per work over the reference's, as a difference of logarithms, with its interval.
  std::optional<double> difference(Candidate candidate) const { return arms_.difference(index(candidate)); }
  std::optional<stats::Interval> interval(Candidate candidate) const { return arms_.interval(index(candidate)); }
  std::uint64_t groups(Candidate candidate) const { return arms_.groups(index(candidate)); }
  const Waited& waited(Candidate candidate) const { return waited_[index(candidate)]; }
  double day_excess() const { return arms_.day_excess(); }
  Duration block() const { return length_; }
  // Why the current candidate serves, for records and people.
  const std::string& why() const { return why_; }

  State saved() const { return {arms_.saved(), {waited_.begin(), waited_.end()}}; }
  // Returns false, without a change, if the state is invalid. The open block starts from scratch.
  bool restore(const State& state);

 private:
  struct Sums {
    double seen_s = 0, energy_j = 0, used_core_s = 0, node_s = 0, watched_node_s = 0;
    double waited_s = 0, wait_seen_s = 0;
    double running_core_s = 0;
    std::array<double, kCandidates.size()> placed_core_s{};  // of running_core_s, by candidate
    void add(const ClusterView& view, const WaitNow& wait, double passed_s);
    // No value if too much is unknown.
    std::optional<stats::BlockOutcome> outcome() const;
  };
  static std::size_t index(Candidate candidate) { return static_cast<std::size_t>(candidate); }
  struct Running {
    std::optional<std::size_t> by;  // candidate; no value: unknown
    std::uint64_t block = 0;
    double cores = 0;
  };
  void add_placed(Sums& sums, double passed_s) const;
  void end_block(const WaitNow& wait);
  void judge_waiting(std::optional<double> limit);
  void set_length();
  void explain();

  TrialOptions options_;
  stats::BestArm arms_;
  bool active_ = false;
  Duration length_;
  std::optional<MonoTime> began_, watched_;
  Sums measured_, whole_;  // of the open block: the part that counts, and from its beginning
  std::unordered_map<std::uint64_t, Running> running_;
  double running_cores_ = 0, fresh_cores_ = 0;  // of running_; of its pods placed in the open block
  std::array<double, kCandidates.size()> placed_cores_{};
  std::uint64_t block_ = 0;
  std::array<Waited, kCandidates.size()> waited_{};
  std::string why_;
};

}  // namespace wattle::placement
