#include "placement/cluster/running_pods.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

constexpr double kLeastSeen_s = 60;     // until a pod's own spread is used
constexpr double kBurst_s = 300;        // correlation time of a pod's deviation from its mean
constexpr double kWaitReading_s = 4.5;  // shortest observation of a pod for learning pairs

// The observed mean deviates by bursts of kBurst_s, the prediction by the spread of similar pods.
double prior_of(const DemandPrediction& predicted) {
  const double spread2 = predicted.sd_cores * predicted.sd_cores;
  return spread2 > 0 ? std::clamp(kBurst_s * predicted.burst_cores2 / spread2, kLeastSeen_s, kHour_s) : kHour_s;
}

// Ignores a soft limit that is not a valid time or is above the hard one, as decisions do.
LimitedPods::value_type* limited_in(LimitedPods& limited, const PodSpec& pod) {
  if (!pod.latency_soft_ms) return nullptr;
  std::vector<std::string> ignored;
  const auto soft_ms = with_sane_limits(pod, ignored).latency_soft_ms;
  if (!soft_ms) return nullptr;
  auto& kind = *limited.try_emplace({pod.latency_target, *soft_ms}).first;
  ++kind.second;
  return &kind;
}

}  // namespace

// Too few readings give no useful variance.
inline std::optional<double> RunningPods::Running::burst_cores2() const {
  if (seen_s < kLeastSeen_s) return std::nullopt;
  const double mean = seen_core_s / seen_s;
  return std::max(0.0, seen_core2_s / seen_s - mean * mean);
}

inline ExpectedUse RunningPods::Running::reckon() const {
  const double unknown = prior_s / (prior_s + seen_s);  // weight of the prediction
  const double own = burst_cores2().value_or(predicted.burst_cores2);
  ExpectedUse made;
  made.cores = predicted.cores;
  if (seen_s > 0) made.cores += (1 - unknown) * (seen_core_s / seen_s - predicted.cores);
  made.cores2 = own + unknown * (predicted.burst_cores2 + predicted.sd_cores * predicted.sd_cores - own);
  made.uncertain_cores = kUpperEnd * unknown * predicted.uncertain_cores;
  return made;
}

inline void RunningPods::Running::see(double cores, double interval_s) {
  seen_core_s += cores * interval_s;
  seen_core2_s += cores * cores * interval_s;
  seen_s += interval_s;
  last_cores = cores;
  expected = reckon();
}

// Reports soon, because similar pods may arrive at any time, and then at doubling intervals. The end of the pod reports
// the remaining time.
inline bool RunningPods::Running::reports() const {
  return reported_s < kHour_s && seen_s >= std::clamp(2 * reported_s, kLeastSeen_s, kHour_s);
}

inline void RunningPods::Running::add_to(PodSums& sums) const {
  if (leaving) {
    ++sums.leaving;
    sums.leaving_cores += last_cores;
    return;
  }
  ++sums.pods;
  sums.cores += expected.cores;
  sums.cores2 += expected.cores2;
  sums.uncertain_cores += expected.uncertain_cores;
  sums.last_cores += last_cores;
  sums.life_s += predicted.life_s;
}

inline void RunningPods::Running::take_from(PodSums& sums) const {
  if (leaving) {
    --sums.leaving;
    sums.leaving_cores = sums.leaving > 0 ? sums.leaving_cores - last_cores : 0;
    return;
  }
  --sums.pods;
  sums.cores -= expected.cores;
  sums.cores2 -= expected.cores2;
  sums.uncertain_cores -= expected.uncertain_cores;
  sums.last_cores -= last_cores;
  sums.life_s -= predicted.life_s;
  if (sums.pods > 0) return;
  const PodSums left{.leaving_cores = sums.leaving_cores, .leaving = sums.leaving};
  sums = left;  // no rounding errors remain
}

// Reports the usage since the last report, within the first hour.
void RunningPods::report(std::uint32_t slot, DemandModel& demand) {
  Running& running = pods_[slot];
  const double since_s = running.seen_s - running.reported_s;
  if (running.reported_s >= kHour_s || !(since_s > 0)) return;
  Identity& identity = identities_[slot];
  demand.observe(identity.app, identity.request.arrived_with,
                 std::max(0.0, running.seen_core_s - identity.reported_core_s) / since_s, since_s,
                 running.burst_cores2());
  running.reported_s = running.seen_s;
  identity.reported_core_s = running.seen_core_s;
}

std::uint32_t RunningPods::free_slot() {
  if (free_.empty()) {
    pods_.emplace_back();
    identities_.emplace_back();
    return static_cast<std::uint32_t>(pods_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

PodHandle RunningPods::find(const std::string& uid) const {
  const auto found = slot_of_.find(uid);
  return found != slot_of_.end() ? PodHandle{found->second, pods_[found->second].generation} : PodHandle{};
}

PodHandle RunningPods::start(const PodSpec& pod, KnownNode& node, const DemandPrediction& predicted, MonoTime now) {
  const std::uint32_t slot = free_slot();
  Running& running = pods_[slot];
  running = Running{.generation = running.generation + 1};
  running.node = &node;
  running.predicted = predicted;
  running.prior_s = prior_of(predicted);
  running.expected = running.reckon();
  running.add_to(node.sums);
  changed_.note(node);
  const std::string* uid = &slot_of_.emplace(pod.uid, slot).first->first;
  const AppKey app = app_key_of(pod);
  const AppId id = app_id_of(app);
  const double there_cores = sane(predicted.cores, kMostCores);
  identities_[slot] = {uid, app, id, there_cores, {pod.request, pod.request}, now, 0, limited_in(node.limited, pod)};
  node.apps.add(id, sane(pod.request).cpu_cores, there_cores, 1);
  return {slot, running.generation};
}

void RunningPods::use(std::span<const PodReading> readings, double interval_s, DemandModel& demand) {
  if (!std::isfinite(interval_s) || interval_s <= 0) return;
  KnownNode* node = nullptr;  // identity sums are being updated
  PodSums sums;
  const auto put_back = [&] {
    if (node == nullptr) return;
    node->sums = sums;
    changed_.note(*node);
  };
  for (const auto& [pod, cores, waited] : readings) {
    if (!runs(pod) || !std::isfinite(cores) || cores < 0) continue;
    Running& running = pods_[pod.slot];
    if (running.node != node) {
      put_back();
      node = running.node;
      sums = node->sums;
    }
    running.take_from(sums);
    if (running.leaving)
      running.last_cores = cores;
    else
      running.see(cores, interval_s);
    running.add_to(sums);
    if (running.leaving) continue;
    if (waited && *waited >= 0 && *waited <= 1) {
      running.waited_s += *waited * interval_s;
      running.waited_of_s += interval_s;
      waits_reported_ = true;
    }
    if (running.reports()) report(pod.slot, demand);
    if (running.seen_s - running.reported_life_s < kHour_s) continue;
    demand.observe_life(identities_[pod.slot].app, running.seen_s - running.reported_life_s, false);
    running.reported_life_s = running.seen_s;
  }
  put_back();
}

// Removes what the pod adds to its node, and reports its usage and its life.
void RunningPods::finish(std::uint32_t slot, MonoTime now, DemandModel& demand) {
  Running& running = pods_[slot];
  const Identity& identity = identities_[slot];
  KnownNode& node = *running.node;
  running.take_from(node.sums);
  changed_.note(node);
  if (running.leaving) return;
  node.apps.add(identity.id, sane(identity.request.now).cpu_cores, identity.there_cores, -1);
  report(slot, demand);
  if (identity.limited != nullptr && --identity.limited->second == 0) node.limited.erase(identity.limited->first);
  demand.observe_life(identity.app, std::max(1.0, seconds(now - identity.since) - running.reported_life_s), true);
}

void RunningPods::leave(const std::string& uid, MonoTime now, DemandModel& demand) {
  const auto found = slot_of_.find(uid);
  if (found == slot_of_.end() || pods_[found->second].leaving) return;
  Running& running = pods_[found->second];
  finish(found->second, now, demand);
  running.leaving = true;
  running.add_to(running.node->sums);
}

std::optional<RunningPods::Requests> RunningPods::end(const std::string& uid, MonoTime now, DemandModel& demand) {
  const auto found = slot_of_.find(uid);
  if (found == slot_of_.end()) return std::nullopt;
  const std::uint32_t slot = found->second;
  finish(slot, now, demand);
  pods_[slot].node = nullptr;
  free_.push_back(slot);
  slot_of_.erase(found);
  return identities_[slot].request;
}

std::optional<RunningPods::Requests> RunningPods::resize(const std::string& uid, const Resources& request) {
  const auto found = slot_of_.find(uid);
  if (found == slot_of_.end()) return std::nullopt;
  Identity& identity = identities_[found->second];
  const Requests before = identity.request;
  if (before.now.cpu_cores == request.cpu_cores && before.now.memory_bytes == request.memory_bytes) return std::nullopt;
  identity.request.now = request;
  if (pods_[found->second].leaving) return before;
  KnownNode& node = *pods_[found->second].node;
  node.apps.add(identity.id, sane(before.now).cpu_cores, identity.there_cores, -1);
  node.apps.add(identity.id, sane(request).cpu_cores, identity.there_cores, 1);
  changed_.note(node);
  return before;
}

std::vector<PodWait> RunningPods::take_waits() {
  std::vector<PodWait> waits;
  if (!std::exchange(waits_reported_, false)) return waits;
  for (std::size_t slot = 0; slot < pods_.size(); ++slot) {
    Running& running = pods_[slot];
    if (running.node == nullptr || running.leaving || running.node->row == KnownNode::kNoRow ||
        running.waited_of_s < kWaitReading_s)
      continue;
    const double seen_s = std::exchange(running.waited_of_s, 0);
    waits.push_back(
        {running.node, identities_[slot].id, std::exchange(running.waited_s, 0) / seen_s, seen_s, running.last_cores});
  }
  return waits;
}

std::optional<PodEstimate> RunningPods::estimate(PodHandle pod, double spread) const {
  if (!runs(pod)) return std::nullopt;
  const Running& running = pods_[pod.slot];
  if (running.leaving)
    return PodEstimate{.request = sane(identities_[pod.slot].request.now), .app = identities_[pod.slot].id};
  const ExpectedUse expected = running.reckon();
  return PodEstimate{sane(identities_[pod.slot].request.now),
                     sane(expected.cores, kMostCores),
                     running.predicted.life_s,
                     sane(spread * expected.cores2, kMostCores * kMostCores),
                     sane(expected.uncertain_cores, kMostCores),
                     identities_[pod.slot].id};
}

}  // namespace wattle::placement
