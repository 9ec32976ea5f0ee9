#include "placement/judge/candidate_trials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattle::placement {
namespace {

constexpr double kLeastSeen = 0.9, kLeastWatched = 0.95, kLeastCores = 0.1;
constexpr double kLongestGap_s = 10;                     // the state during a longer gap is unknown
constexpr double kOverWait = 1.5;                        // as the budget's monitor
constexpr double kMostPods = 0.5;                        // share of running pods from which a block shows their waiting
constexpr double kLeastFresh = 0.05, kMostFresh = 0.99;  // of running pods, in a block

std::size_t blocks_of_day(Duration day, Duration length) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(day / length));
}

}  // namespace

std::string_view CandidateTrials::name(Candidate candidate) const {
  constexpr std::string_view kNames[] = {kFloorPolicy, "planner", "baseline", "learned"};
  return kNames[static_cast<std::size_t>(candidate)];
}

CandidateTrials::CandidateTrials(TrialOptions options)
    : options_(options),
      arms_({.arms = kCandidates.size(), .seed = options.seed, .favoured = index(Candidate::baseline)}),
      length_(std::max(options.length, options.day / kLeastBlocksOfDay)) {
  arms_.set_day_blocks(blocks_of_day(options_.day, length_));
  explain();
}

void CandidateTrials::set_active(bool active) {
  active = active && options_.on;
  if (active != active_) began_.reset();
  active_ = active;
  explain();
}

void CandidateTrials::forget(Candidate candidate) {
  arms_.forget(index(candidate));
  waited_[index(candidate)] = {};
  explain();
}

void CandidateTrials::on_pod_started(std::uint64_t pod, double cores) {
  const std::optional<std::size_t> by = began_ ? std::optional(index(serves())) : std::nullopt;
  if (!running_.try_emplace(pod, Running{by, block_, cores}).second) return;
  running_cores_ += cores;
  fresh_cores_ += by ? cores : 0;
  if (by) placed_cores_[*by] += cores;
}

void CandidateTrials::on_pod_ended(std::uint64_t pod) {
  const auto found = running_.find(pod);
  if (found == running_.end()) return;
  const Running& was = found->second;
  running_cores_ -= was.cores;
  if (was.by && was.block == block_) fresh_cores_ -= was.cores;
  if (was.by) placed_cores_[*was.by] -= was.cores;
  running_.erase(found);
  if (!running_.empty()) return;
  running_cores_ = fresh_cores_ = 0;  // without the sums' rounding errors
  placed_cores_ = {};
}

void CandidateTrials::add_placed(Sums& sums, double passed_s) const {
  sums.running_core_s += running_cores_ * passed_s;
  for (std::size_t i = 0; i < placed_cores_.size(); ++i) sums.placed_core_s[i] += placed_cores_[i] * passed_s;
}

// With a constant turnover, half of the pods are replaced in length x log 2 / -log(1 - share).
void CandidateTrials::set_length() {
  if (running_cores_ > 0) {
    const double share = std::clamp(fresh_cores_ / running_cores_, kLeastFresh, kMostFresh);
    const double twice_half_life = 2 * std::log(2.0) / -std::log1p(-share);
    const auto wanted = std::chrono::duration_cast<Duration>(twice_half_life * length_);
    length_ = std::clamp(wanted, options_.length, std::max(options_.length, options_.day / kLeastBlocksOfDay));
    arms_.set_day_blocks(blocks_of_day(options_.day, length_));
  }
  ++block_;
  fresh_cores_ = 0;
}

void CandidateTrials::Sums::add(const ClusterView& view, const WaitNow& wait, double passed_s) {
  seen_s += passed_s;
  for (const NodeView& node : view.nodes) {
    used_core_s += node.values.cpu_used_cores.value_or(0) * passed_s;
    energy_j += node.power_w.value_or(0) * passed_s;
    watched_node_s += node.power_w ? passed_s : 0;
    node_s += passed_s;
  }
  if (wait.ratio) waited_s += *wait.ratio * passed_s;
  if (wait.ratio) wait_seen_s += passed_s;
}

std::optional<stats::BlockOutcome> CandidateTrials::Sums::outcome() const {
  if (!(energy_j > 0) || !(used_core_s > 0) || watched_node_s < kLeastWatched * node_s ||
      used_core_s < kLeastCores * seen_s)
    return std::nullopt;
  stats::BlockOutcome outcome{std::log(energy_j / used_core_s), -std::log(used_core_s / seen_s), {}};
  if (running_core_s > 0)
    for (const double each : placed_core_s) outcome.placed.push_back(each / running_core_s);
  return outcome;
}

void CandidateTrials::end_block(const WaitNow& wait) {
  const std::size_t served = index(serves());
  const double to_measure_s = seconds(length_) * (1 - arms_.exposure() / 2);
  if (measured_.wait_seen_s > 0 && measured_.placed_core_s[served] > kMostPods * measured_.running_core_s)
    waited_[served].add(measured_.waited_s / measured_.wait_seen_s);
  arms_.end(measured_.seen_s >= kLeastSeen * to_measure_s ? measured_.outcome() : std::nullopt);
  measured_ = whole_ = {};
  set_length();
  judge_waiting(wait.limit);
}

void CandidateTrials::judge_waiting(std::optional<double> limit) {
  constexpr double kUnknown = 1;
  std::array<double, kCandidates.size()> waits{};
  for (std::size_t i = 0; i < waits.size(); ++i)
    waits[i] = waited_[i].blocks >= kLeastWaitBlocks ? *waited_[i].mean() : kUnknown;
  const double allowed = limit ? kOverWait * *limit : kUnknown;
  const auto breaks = [&](std::size_t i) { return waits[i] < kUnknown && waits[i] > allowed; };
  const double least = *std::min_element(waits.begin(), waits.end());
  for (std::size_t i = 1; i < waits.size(); ++i) {
    if (!breaks(i) || (waits[i] <= waited_[0].mean().value_or(0) && waits[i] <= kOverWait * least)) continue;
    arms_.reject(i);
    waited_[i] = {};
    waits[i] = kUnknown;
  }
  for (std::size_t i = 0; i < waits.size(); ++i) arms_.set_breaks_budget(i, breaks(i));
  if (in_use() != Candidate::floor || !breaks(0)) return;
  std::optional<std::size_t> best;
  const auto rank = [&](std::size_t i) {
    return std::pair(waits[i] > allowed ? waits[i] : 0.0, arms_.difference(i).value_or(0));
  };
  for (std::size_t i = 1; i < waits.size(); ++i) {
    const bool tried = arms_.state(i) == stats::NetworkState::on_trial;
    if (tried && waits[0] > kOverWait * std::max(*limit, waits[i]) && (!best || rank(i) < rank(*best))) best = i;
  }
  if (!best) return;
  arms_.replace_floor(*best);
  waited_[0] = {};
}

bool CandidateTrials::watch(const ClusterView& view, const WaitNow& wait) {
  if (!active_) return false;
  const Candidate before = serves();
  if (!began_) {
    began_ = watched_ = view.now;
    measured_ = whole_ = {};
    ++block_;
    fresh_cores_ = 0;
  }
  const double passed_s = std::clamp(seconds(view.now - *watched_), 0.0, kLongestGap_s);
  watched_ = view.now;
  const Duration since = view.now - *began_;
  whole_.add(view, wait, passed_s);
  if (seconds(since) > seconds(length_) * arms_.exposure() / 2) {
    measured_.add(view, wait, passed_s);
    add_placed(measured_, passed_s);
  }
  if (since >= length_) {
    end_block(wait);
    began_ = view.now;
  } else {
    arms_.so_far(whole_.outcome(), seconds(since) / seconds(length_));
  }
  explain();
  return serves() != before;
}

void CandidateTrials::explain() {
  why_ = "the choice of " + std::string(is_network(serves()) ? "the network " : "the policy ") +
         std::string(name(serves()));
  if (state(Candidate::floor) == stats::NetworkState::withdrawn && serves() == in_use())
    why_ += ": pods waited longer than allowed with the policy " + std::string(name(Candidate::floor));
  else if (serves() != in_use())
    why_ += serves() == Candidate::floor ? ": a block of comparison with the floor" : ": it is on trial in this block";
  else if (in_use() == Candidate::floor)
    why_ += ": no other candidate has been measured to cost less energy per unit of work";
  else
    why_ += ": it has been measured to cost less energy per unit of work";
}

bool CandidateTrials::restore(const State& state) {
  if (state.waited.size() != waited_.size()) return false;
  for (const Waited& each : state.waited)
    if (!(each.sum >= 0 && each.sum <= static_cast<double>(each.blocks))) return false;
  if (!arms_.restore(state.arms)) return false;
  std::copy(state.waited.begin(), state.waited.end(), waited_.begin());
  began_.reset();
  explain();
  return true;
}

}  // namespace wattle::placement
