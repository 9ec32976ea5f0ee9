#include "placement/judge/shadow_cluster.hpp"

#include <utility>

#include "placement/cluster/cluster_model.hpp"

namespace wattle::placement {

namespace {

// Most pods run on a different node than in the copy. On average, one in this many readings updates the estimate of a
// pod, because most readings change it little.
constexpr unsigned kReadingsPerUpdate = 16;

void update(AdvisedCluster& copy, PodHandle pod, const ClusterModel& model) {
  const std::string* uid = model.pods().uid(pod);
  if (uid != nullptr && copy.displaced(*uid)) copy.learned(*uid, *model.running(pod));
}

double passed_s(std::optional<MonoTime>& since, MonoTime now) {
  const auto before = std::exchange(since, now);
  return before ? seconds(now - *before) : 0;
}

}  // namespace

ShadowCluster::ShadowCluster(AdvisedOptions advised, ModelledOptions modelled)
    : advised_options_(advised),
      default_options_(advised),
      longest_gap_s_(modelled.longest_gap_s),
      advised_(advised),
      saving_(modelled) {
  default_options_.all_awake = true;
  default_ = AdvisedCluster(default_options_);
}

void ShadowCluster::set_modelled(Modelled what, bool restart) {
  if (what == modelled_ && !restart) return;
  modelled_ = what;
  advised_ = AdvisedCluster(advised_options_);
  default_ = AdvisedCluster(default_options_);
  saving_.restart();
  default_ratio_.reset();
  advised_at_.reset();
  default_at_.reset();
}

void ShadowCluster::set_control(std::optional<std::uint64_t> block) {
  if (block == control_) return;
  control_ = block;
  compared_ = {};
  if (shadow()) return;
  advised_ = AdvisedCluster(advised_options_);
  advised_at_.reset();
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
  if (!shadow() || pod.daemonset) return;
  advised_.advise(pod.uid, std::move(advised), ask, now, Duration::zero(), pod.owner);
  advised_.placed(pod.uid, std::move(runs), now);
}

void ShadowCluster::keep(const std::string& uid) {
  advised_.keep(uid);
  default_.keep(uid);
}

void ShadowCluster::withdraw(const std::string& uid) {
  advised_.withdraw(uid);
  default_.withdraw(uid);
}

void ShadowCluster::on_pod_started(const PodSpec& pod, Place place, MonoTime now) {
  if (pod.daemonset) return;
  if (with_default() != nullptr) default_.placed(pod.uid, place, now);
  if (active()) advised_.placed(pod.uid, std::move(place), now);
}

void ShadowCluster::on_pod_leaving(PodHandle pod, const ClusterModel& model) {
  if (active()) update(advised_, pod, model);
  if (with_default() != nullptr) update(default_, pod, model);
}

void ShadowCluster::on_pod_ended(const std::string& uid) {
  advised_.ended(uid);
  default_.ended(uid);
}

void ShadowCluster::on_usage(std::span<const PodReading> readings, const ClusterModel& model) {
  if (!active() && with_default() == nullptr) return;
  for (const PodReading& each : readings) {
    if (sample_() % kReadingsPerUpdate != 0) continue;
    if (active()) update(advised_, each.pod, model);
    if (with_default() != nullptr) update(default_, each.pod, model);
  }
}

void ShadowCluster::refresh(const ClusterView& view, const Fleet& fleet) {
  if (active()) {
    advised_.expire(view, view.now);
    const ComparedLoad load = advised_.compare(view, fleet);
    const double passed = passed_s(advised_at_, view.now);
    if (shadow()) saving_.add(load, passed);
    if (control_ && passed > 0) compared_.add(load, passed, longest_gap_s_);
  }
  if (with_default() != nullptr) {
    default_.expire(view, view.now);
    ComparedLoad load = default_.compare(view, fleet);
    std::swap(load.now, load.advised);  // `now` is with the default scheduler's choices
    default_ratio_.reset();
    if (load.advised.power_w > 0) default_ratio_ = load.now.power_w / load.advised.power_w;
    saving_.add(load, passed_s(default_at_, view.now));
  }
}

}  // namespace wattle::placement
