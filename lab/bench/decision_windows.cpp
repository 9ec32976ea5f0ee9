#include "lab/bench/decision_windows.hpp"

#include <utility>

#include "sim/policies/pairs_oracle.hpp"

namespace wattle::sim {

Result<std::unique_ptr<DecisionWindows>> DecisionWindows::make(std::size_t decisions_each,
                                                               const ChooserOptions& options, std::uint64_t seed) {
  std::unique_ptr<DecisionWindows> made(new DecisionWindows(decisions_each));
  WATTLE_TRY(Chooser oracle, Chooser::make(made->oracle_is_, options, seed));
  made->oracle_.emplace(std::move(oracle));
  return made;
}

void DecisionWindows::decided(const World& world, const placement::ClusterView& view, const SimPod& pod,
                              std::size_t node) {
  if (world.pairs() == nullptr) return;
  if (windows_.empty()) began_s_ = world.now_s();
  if (windows_.empty() || windows_.back().decisions == each_) {
    windows_.emplace_back();
    windows_.back().from_s = world.now_s() - began_s_;
  }
  DecisionWindow& window = windows_.back();
  ++window.decisions;
  window.placed_cores += pod.mean_demand_cores;
  window.lost_cores += lost_cores(world, pod, node);
  window.oracle_lost_cores += lost_cores(world, pod, oracle_->choose(world, view, pod).value_or(node));
  to_follow_ = true;
}

void DecisionWindows::placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
                             MonoTime now) {
  if (std::exchange(to_follow_, false)) window_of_[id] = windows_.size() - 1;
  for (WorldObserver* each : {next_, oracle_->observer()}) each->placed(id, pod, node, row, now);
}

void DecisionWindows::ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) {
  for (WorldObserver* each : {next_, oracle_->observer()}) each->ended(pod, row, now);
}

void DecisionWindows::resized(const std::string& uid, const placement::Resources& request) {
  for (WorldObserver* each : {next_, oracle_->observer()}) each->resized(uid, request);
}

void DecisionWindows::used(std::span<const PodUse> pods, double interval_s) {
  for (const PodUse& use : pods) {
    const auto found = window_of_.find(use.pod);
    if (found == window_of_.end()) continue;
    windows_[found->second].pod_s += interval_s;
    windows_[found->second].waited_pod_s += use.waited * interval_s;
  }
  for (WorldObserver* each : {next_, oracle_->observer()}) each->used(pods, interval_s);
}

void DecisionWindows::reported(const World& world) {
  for (WorldObserver* each : {next_, oracle_->observer()}) each->reported(world);
}

}  // namespace wattle::sim
