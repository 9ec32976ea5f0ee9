// decision_windows: what decisions are worth where pairs disturb each other (sim/cluster/pairs), whatever was placed before them: a row for
// each so many decisions from the moment on at which they do.
// Lost     work that pods there do not get done any more for this pod, its own among it, in cores; of the node that was chosen, and of the one
//          that pairs-oracle would have chosen in the same state. A pod that is disturbed already loses no more
// Waited   of the pods that were placed in these decisions, by what agents tell of them until they end, or the episode does
// Follows  a world in place of who decides, who follows it through this. It changes nothing of what happens
// Errors   make: forwards the oracle's
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/policies/contestant.hpp"

namespace wattle::sim {

struct DecisionWindow {
  std::size_t decisions = 0;
  double from_s = 0;  // of its first decision, since that of the first window
  double placed_cores = 0, lost_cores = 0, oracle_lost_cores = 0;
  double pod_s = 0, waited_pod_s = 0;
};

class DecisionWindows final : public WorldObserver {
 public:
  // `options`: what the oracle's planner knows at the start, and binds by.
  static Result<std::unique_ptr<DecisionWindows>> make(std::size_t decisions_each, const ChooserOptions& options,
                                                       std::uint64_t seed);
  // Who decides; it outlives this.
  void begin(WorldObserver* next) { next_ = next; }
  // Before the pod is placed there.
  void decided(const World& world, const placement::ClusterView& view, const SimPod& pod, std::size_t node);
  const std::vector<DecisionWindow>& windows() const { return windows_; }

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void used(std::span<const PodUse> pods, double interval_s) override;
  void told(const World& world) override;

 private:
  explicit DecisionWindows(std::size_t decisions_each)
      : each_(decisions_each), oracle_is_(contestant_named("pairs-oracle").value()) {}

  std::size_t each_;
  Contestant oracle_is_;
  std::optional<Chooser> oracle_;
  WorldObserver* next_ = nullptr;
  std::vector<DecisionWindow> windows_;
  double began_s_ = 0;
  bool to_follow_ = false;                                     // the pod that is placed next
  std::unordered_map<cluster::PodId, std::size_t> window_of_;  // of pods
};

}  // namespace wattle::sim
