#include "placement/judge/shadow_cluster.hpp"

#include <utility>

namespace wattle::placement {

ShadowCluster::ShadowCluster(AdvisedOptions advised, ModelledOptions modelled)
    : advised_options_(advised), longest_gap_s_(modelled.longest_gap_s), advised_(advised), saving_(modelled) {}

void ShadowCluster::set_shadow(bool on, bool restart) {
  if (on == shadow_ && !restart) return;
  shadow_ = on;
  advised_ = AdvisedCluster(advised_options_);
  saving_.begin_anew();
  modelled_.reset();
}

void ShadowCluster::set_control(std::optional<std::uint64_t> block) {
  if (block == control_) return;
  control_ = block;
  compared_ = {};
  if (shadow_) return;
  advised_ = AdvisedCluster(advised_options_);
  modelled_.reset();
}

AdvisedCluster::Copy* ShadowCluster::copy(const ClusterView& view, const Fleet& fleet, const std::string& owner) {
  if (!active() || advised_.same()) return nullptr;
  return &advised_.copy(view, fleet, owner);
}

void ShadowCluster::reserve(const PodSpec& pod, Place place, const PodEstimate& ask, MonoTime now, Duration hold) {
  if (!active() || !pod.node_name.empty() || pod.daemonset) return;
  advised_.advise(pod.uid, std::move(place), ask, now, hold, pod.owner);
}

void ShadowCluster::reserve_again(const PodSpec& pod, Place advised, Place runs, const PodEstimate& ask, MonoTime now) {
  if (!shadow_ || pod.daemonset) return;
  advised_.advise(pod.uid, std::move(advised), ask, now, Duration::zero(), pod.owner);
  advised_.placed(pod.uid, std::move(runs), now);
}

void ShadowCluster::on_pod_started(const PodSpec& pod, Place place, MonoTime now) {
  if (active() && !pod.daemonset) advised_.placed(pod.uid, std::move(place), now);
}

void ShadowCluster::on_usage(std::span<const PodReading> readings, const ClusterModel& model) {
  if (!active()) return;
  for (const PodReading& each : readings) {
    const std::string* uid = model.uid(each.pod);
    if (uid != nullptr && advised_.displaced(*uid)) advised_.learned(*uid, *model.running(each.pod));
  }
}

void ShadowCluster::refresh(const ClusterView& view, const Fleet& fleet) {
  if (!active()) return;
  advised_.expire(view, view.now);
  const ComparedLoad load = advised_.compare(fleet);
  const double passed_s = modelled_ ? seconds(view.now - *modelled_) : 0;
  if (modelled_ && shadow_) saving_.add(load, passed_s);
  if (modelled_ && control_) compared_.add(load, passed_s, longest_gap_s_);
  modelled_ = view.now;
}

}  // namespace wattle::placement
