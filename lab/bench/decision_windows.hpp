// decision_windows: the value of decisions where pairs disturb each other (sim/cluster/pairs), independent of earlier
// placements. Makes one row per window of decisions, starting when pairs take effect.
// Lost     work in cores that the pods on a node, including this one, lose because of this pod: for the chosen node,
//          and for the node that pairs-oracle would have chosen in the same state. A pod that is disturbed already
//          loses no more
// Waited   by the pods placed in the window, from the agents' reports until they end or the episode does
// Follows  a world in place of the decider's observer, and forwards every call to it. Does not affect the episode
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
  double from_s = 0;  // time of its first decision since that of the first window
  double placed_cores = 0, lost_cores = 0, oracle_lost_cores = 0;
  double pod_s = 0, waited_pod_s = 0;
};

class DecisionWindows final : public WorldObserver {
 public:
  // `options`: the oracle planner's initial knowledge and its scheduler options.
  static Result<std::unique_ptr<DecisionWindows>> make(std::size_t decisions_each, const ChooserOptions& options,
                                                       std::uint64_t seed);
  // Sets the decider's observer, which must outlive this object.
  void begin(WorldObserver* next) { next_ = next; }
  // Call before the pod is placed there.
  void decided(const World& world, const placement::ClusterView& view, const SimPod& pod, std::size_t node);
  const std::vector<DecisionWindow>& windows() const { return windows_; }

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void resized(const std::string& uid, const placement::Resources& request) override;
  void used(std::span<const PodUse> pods, double interval_s) override;
  void reported(const World& world) override;

 private:
  explicit DecisionWindows(std::size_t decisions_each)
      : each_(decisions_each), oracle_is_(contestant_named("pairs-oracle").value()) {}

  std::size_t each_;
  Contestant oracle_is_;
  std::optional<Chooser> oracle_;
  WorldObserver* next_ = nullptr;
  std::vector<DecisionWindow> windows_;
  double began_s_ = 0;
  bool to_follow_ = false;                                     // the next placed pod belongs to a window
  std::unordered_map<cluster::PodId, std::size_t> window_of_;  // by pod
};

}  // namespace wattle::sim
