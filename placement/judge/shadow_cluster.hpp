// shadow_cluster: the cluster with the choices that are not followed, and the energy that Wattle saves.
// Advice   in shadow mode and in the blocks of a canary without followed advice, placement/judge/advised_cluster
//          accumulates the advice; the next decision is made on that copy
// Default  in the modes canary and live a second copy accumulates the choices of the default scheduler for the same
//          pods, from the beginning of the mode. None of its nodes sleeps: it is the cluster without Wattle
// Saving   placement/judge/modelled_saving of either copy; placement/judge/compared_energy in a canary's block
// Units    in names; seconds of the view's clock
// Errors   restore_saving: the state is not valid
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>

#include "placement/cluster/fleet.hpp"
#include "placement/cluster/running_pods.hpp"
#include "placement/judge/advised_cluster.hpp"
#include "placement/judge/compared_energy.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::placement {

class ClusterModel;  // placement/cluster/cluster_model.hpp

// The choices that are modelled on the copy. The real cluster follows the others.
enum class Modelled { none, advice, default_scheduler };

class ShadowCluster {
 public:
  using Place = AdvisedCluster::Place;

  ShadowCluster(AdvisedOptions advised, ModelledOptions modelled);

  // The modelled saving continues if `what` stays the same and `restart` is false; otherwise it restarts.
  void set_modelled(Modelled what, bool restart);
  // Sets the canary block without followed advice; its advice accumulates on a copy that starts with the block. No
  // value: no such block is active.
  void set_control(std::optional<std::uint64_t> block);
  // True while advice accumulates on the copy.
  bool active() const { return shadow() || control_; }
  bool shadow() const { return modelled_ == Modelled::advice; }
  // The copy with the default scheduler's choices; null if none is kept.
  const AdvisedCluster* with_default() const { return modelled_ == Modelled::default_scheduler ? &default_ : nullptr; }

  // Returns the copy of the view, valid until the next call of any member; null if it equals the cluster. Replicas of
  // `owner` count where they were advised.
  AdvisedCluster::Copy* copy(const ClusterView& view, const Fleet& fleet, const std::string& owner);

  // Reserves the place for the pod until it ends. `hold`: the least time for which it is expected.
  void reserve(const PodSpec& pod, Place place, const PodEstimate& ask, MonoTime now, Duration hold);
  // Reserves the node that the default scheduler chooses, as above. Call if with_default() is not null.
  void reserve_default(const PodSpec& pod, Place place, const PodEstimate& ask, MonoTime now, Duration hold) {
    default_.advise(pod.uid, std::move(place), ask, now, hold, pod.owner);
  }
  // Restores the advice for a running pod after a restart, in shadow mode.
  void reserve_again(const PodSpec& pod, Place advised, Place runs, const PodEstimate& ask, MonoTime now);
  // Call when the API server has the pod: it is expected until it runs or is withdrawn.
  void keep(const std::string& uid);
  // Call when the pod no longer waits, or is requested again.
  void withdraw(const std::string& uid);
  void on_pod_started(const PodSpec& pod, Place place, MonoTime now);
  // Call when the pod is being deleted, after the model.
  void on_pod_leaving(PodHandle pod, const ClusterModel& model);
  void on_pod_ended(const std::string& uid);
  // Updates the estimates of displaced pods from the model, which has received these readings.
  void on_usage(std::span<const PodReading> readings, const ClusterModel& model);
  // Adds the load since the last call to the saving; about once a second. `fleet` is that of the real cluster.
  void refresh(const ClusterView& view, const Fleet& fleet);

  // Null in mode off.
  const ModelledSaving* saving() const { return modelled_ != Modelled::none ? &saving_ : nullptr; }
  bool restore_saving(const ModelledState& state) { return saving() != nullptr && saving_.restore(state); }
  // Returns the modelled power with the default scheduler's choices over that of the real cluster, as of the last
  // refresh(). No value while the default scheduler's choices are followed.
  std::optional<double> default_power_ratio() const { return with_default() ? default_ratio_ : std::nullopt; }
  // Energy since the canary's block began; no value if none is active.
  std::optional<ComparedEnergy> compared() const { return control_ ? std::optional(compared_) : std::nullopt; }

 private:
  AdvisedOptions advised_options_, default_options_;
  double longest_gap_s_;
  Modelled modelled_ = Modelled::none;
  std::optional<std::uint64_t> control_;  // the block
  ComparedEnergy compared_;
  AdvisedCluster advised_, default_;
  ModelledSaving saving_;
  std::optional<double> default_ratio_;
  std::optional<MonoTime> advised_at_, default_at_;  // of the last refresh
  std::minstd_rand sample_;
};

}  // namespace wattle::placement
