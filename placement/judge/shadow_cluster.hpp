// shadow_cluster: the cluster as it would be if the scheduler had followed the advice, and the energy that acting would
// save. Used in shadow mode and in the blocks of a canary without followed advice.
// Copy     placement/judge/advised_cluster accumulates advice; the next decision is made on that copy
// Saving   placement/judge/modelled_saving in shadow mode, placement/judge/compared_energy in a canary's block
// Units    in names; seconds of the view's clock
// Errors   restore_saving: the state is not valid
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "placement/cluster/cluster_model.hpp"
#include "placement/judge/advised_cluster.hpp"
#include "placement/judge/compared_energy.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::placement {

class ShadowCluster {
 public:
  using Place = AdvisedCluster::Place;

  ShadowCluster(AdvisedOptions advised, ModelledOptions modelled);

  // Sets whether the advice is only recorded. The modelled saving continues if the mode stays the same and `restart` is
  // false; otherwise it restarts.
  void set_shadow(bool on, bool restart);
  // Sets the canary block without followed advice; its advice accumulates on a copy that starts with the block. No
  // value: no such block is active.
  void set_control(std::optional<std::uint64_t> block);
  // True while advice accumulates on the copy.
  bool active() const { return shadow_ || control_; }
  bool shadow() const { return shadow_; }

  // Returns the copy of the view, valid until the next call of any member; null if it equals the cluster. Replicas of
  // `owner` count where they were advised.
  AdvisedCluster::Copy* copy(const ClusterView& view, const Fleet& fleet, const std::string& owner);

  // Reserves the place for the pod until it ends. `hold`: the least time for which it is expected.
  void reserve(const PodSpec& pod, Place place, const PodEstimate& ask, MonoTime now, Duration hold);
  // Restores a pod that was advised before a restart and runs; in shadow mode.
  void reserve_again(const PodSpec& pod, Place advised, Place runs, const PodEstimate& ask, MonoTime now);
  // The API server knows the pod: expects it until it runs or is withdrawn.
  void keep(const std::string& uid) { advised_.keep(uid); }
  // The pod no longer waits, or is requested again.
  void withdraw(const std::string& uid) { advised_.withdraw(uid); }
  void on_pod_started(const PodSpec& pod, Place place, MonoTime now);
  void on_pod_ended(const std::string& uid) { advised_.ended(uid); }
  // Updates the estimates of displaced pods from the model, which has received these readings.
  void on_usage(std::span<const PodReading> readings, const ClusterModel& model);
  // Adds the load since the last call to the saving; about once a second. `fleet` is that of the real cluster.
  void refresh(const ClusterView& view, const Fleet& fleet);

  // Null outside shadow mode.
  const ModelledSaving* saving() const { return shadow_ ? &saving_ : nullptr; }
  bool restore_saving(const ModelledState& state) { return shadow_ && saving_.restore(state); }
  // Energy since the canary's block began; no value if none is active.
  std::optional<ComparedEnergy> compared() const { return control_ ? std::optional(compared_) : std::nullopt; }

 private:
  AdvisedOptions advised_options_;
  double longest_gap_s_;
  bool shadow_ = false;
  std::optional<std::uint64_t> control_;  // the block
  ComparedEnergy compared_;
  AdvisedCluster advised_;
  ModelledSaving saving_;
  std::optional<MonoTime> modelled_;
};

}  // namespace wattle::placement
