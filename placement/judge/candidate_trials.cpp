#include "placement/judge/candidate_trials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace wattle::placement {
namespace {

constexpr double kLeastSeen = 0.9, kLeastWatched = 0.95, kLeastCores = 0.1;
constexpr double kLongestGap_s = 10;  // the state during a longer gap is unknown
constexpr double kOverWait = 1.5;     // as the budget's monitor

}  // namespace

std::string_view CandidateTrials::name(Candidate candidate) const {
  switch (candidate) {
    case Candidate::floor:
      return kFloorPolicy;
    case Candidate::planner:
      return "planner";
    case Candidate::baseline:
      return "baseline";
    case Candidate::learned:
      break;
  }
  return "learned";
}

double packed_w(const Fleet& fleet) {
  double requested = 0, used = 0;
  for (const FleetNode& node : fleet.nodes) {
    requested += node.requested.cpu_cores;
    used += node.used_cores;
  }
  const auto half_w = [&fleet](std::size_t i) {
    const double cores = fleet.nodes[i].allocatable.cpu_cores;
    return cores > 0 ? fleet.nodes[i].watts_at(cores / 2) / cores : INFINITY;
  };
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) order.emplace_back(half_w(i), i);
  std::sort(order.begin(), order.end());
  double watts = 0, left = requested;
  for (const auto& [key, i] : order) {
    const FleetNode& node = fleet.nodes[i];
    const double here = std::clamp(left, 0.0, node.allocatable.cpu_cores);
    left -= here;
    if (here > 0)
      watts += node.watts_at(used * here / requested);
    else
      watts += fleet.idle_nodes_sleep ? node.sleep_w : node.idle_w();
  }
  return watts;
}

CandidateTrials::CandidateTrials(TrialOptions options)
    : options_(options), arms_({.arms = kCandidates.size(), .seed = options.seed}) {
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

void CandidateTrials::Sums::add(const ClusterView& view, double expected_w, const WaitNow& wait, double passed_s) {
  seen_s += passed_s;
  expected_j += expected_w * passed_s;
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
  if (!(energy_j > 0) || !(expected_j > 0) || watched_node_s < kLeastWatched * node_s ||
      used_core_s < kLeastCores * seen_s)
    return std::nullopt;
  return stats::BlockOutcome{std::log(energy_j / used_core_s), std::log(expected_j / used_core_s)};
}

void CandidateTrials::end_block(const WaitNow& wait) {
  const std::size_t served = index(serves());
  const double to_measure_s = seconds(options_.length - options_.washout);
  Waited& here = waited_[served];
  if (measured_.wait_seen_s > 0) {
    here.sum += measured_.waited_s / measured_.wait_seen_s;
    ++here.blocks;
  }
  arms_.end(measured_.seen_s >= kLeastSeen * to_measure_s ? measured_.outcome() : std::nullopt);
  measured_ = whole_ = {};
  if (served == 0 || !wait.limit || here.blocks < kLeastWaitBlocks) return;
  if (*here.mean() <= kOverWait * *wait.limit || *here.mean() <= waited_[0].mean().value_or(0)) return;
  arms_.reject(served);
  here = {};
}

bool CandidateTrials::watch(const ClusterView& view, const Fleet& fleet, const WaitNow& wait) {
  if (!active_) return false;
  const Candidate before = serves();
  if (!began_) {
    began_ = watched_ = view.now;
    measured_ = whole_ = {};
  }
  const double passed_s = std::clamp(seconds(view.now - *watched_), 0.0, kLongestGap_s);
  watched_ = view.now;
  const Duration since = view.now - *began_;
  const double expected_w = packed_w(fleet);
  whole_.add(view, expected_w, wait, passed_s);
  if (since > options_.washout) measured_.add(view, expected_w, wait, passed_s);
  if (since >= options_.length) {
    end_block(wait);
    began_ = view.now;
  } else if (const auto so_far = whole_.outcome()) {
    arms_.so_far(*so_far, seconds(since) / seconds(options_.length));
  }
  explain();
  return serves() != before;
}

void CandidateTrials::explain() {
  why_ = "the choice of " + std::string(is_network(serves()) ? "the network " : "the policy ") +
         std::string(name(serves()));
  if (serves() != in_use())
    why_ += serves() == Candidate::floor ? ": a block of comparison with the floor" : ": it is on trial in this block";
  else if (in_use() == Candidate::floor)
    why_ += ": no other candidate has been measured to cost less energy per unit of work";
  else
    why_ += ": it has been measured to cost less energy per unit of work than the floor";
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
