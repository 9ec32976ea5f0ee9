#include "sim/cluster/kernel.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace wattle::sim::cluster {

namespace {
double elapsed_s(double from, double to) { return to - from; }
double elapsed_s(MonoTime from, MonoTime to) { return seconds(to - from); }
double later(double from, double s) { return from + s; }
MonoTime later(MonoTime from, double s) { return from + from_seconds(s); }
constexpr double kAlwaysWaits = 1.25;  // wanted share of the cores at which pods wait all the time
}  // namespace

double pressure_ratio(double wanted_cores, double cores, double crowded_ratio) {
  return std::clamp((wanted_cores / cores - crowded_ratio) / (kAlwaysWaits - crowded_ratio), 0.0, 1.0);
}

template <class Time>
Kernel<Time>::Kernel(const std::vector<Machine>& machines, const SleepOptions& sleep,
                     std::shared_ptr<const Pairs> pairs)
    : sleep_(sleep), pairs_(std::move(pairs)) {
  nodes_.resize(machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    nodes_[i].machine = machines[i];
    if (sleep.idle_sleep && sleep.from_start) nodes_[i].power = Power::asleep;
    refresh(i);
    fall_asleep_later(i);
  }
}

template <class Time>
double Kernel<Time>::running_w(std::size_t i) const {
  const Node& node = nodes_[i];
  const double cores = node.machine.cores;
  return watts_at(node.machine.watts, std::min(node.wanted_cores, cores) / cores);
}

template <class Time>
void Kernel<Time>::refresh(std::size_t i) {
  Node& node = nodes_[i];
  const Machine& machine = node.machine;
  double wanted = machine.blocked_cores;
  for (const Pod& pod : node.pods) wanted += pod.wanted_cores;
  node.wanted_cores = wanted;
  node.used_cores = node.pressure_ratio = node.work_cores = node.crowd_ratio = node.shown_pressure_ratio = 0;
  switch (node.power) {
    case Power::awake: {
      node.used_cores = std::min(wanted, machine.cores);
      node.pressure_ratio =
          std::min(1.0, machine.waiting_times * pressure_ratio(wanted, machine.cores, machine.crowded_ratio));
      node.power_w = running_w(i);
      node.work_cores = node.used_cores;
      node.shown_pressure_ratio = node.pressure_ratio;
      if (!node.paces.empty()) slow(node);
      return;
    }
    case Power::asleep:
      node.power_w = machine.sleep_w;
      return;
    case Power::waking:
      node.power_w = machine.wake_energy_j / machine.wake_time_s;
      return;
    case Power::gone:
      node.power_w = 0;
      return;
  }
}

template <class Time>
void Kernel<Time>::slow(Node& node) const {
  double wanted = node.machine.blocked_cores, work = wanted;
  for (std::size_t k = 0; k < node.pods.size(); ++k) {
    wanted += node.pods[k].wanted_cores;
    work += node.pods[k].wanted_cores * node.paces[k].speed;
  }
  if (wanted > 0) node.work_cores = node.used_cores * (work / wanted);
  node.crowd_ratio = node.pressure_ratio;
  if (node.speed < 1) node.pressure_ratio = 1 - (1 - node.crowd_ratio) * node.speed;
  if (node.shown_speed < 1) node.shown_pressure_ratio = 1 - (1 - node.crowd_ratio) * node.shown_speed;
}

template <class Time>
void Kernel<Time>::pace(std::size_t i) {
  if (!pairs_) return;
  Node& node = nodes_[i];
  const bool runs = disturbed_ && node.power == Power::awake;
  double speeds = 0, shown_speeds = 0;
  ByResource used{};
  for (std::size_t k = 0; runs && pairs_->shares() && k < node.paces.size(); ++k)
    for (std::size_t r = 0; r < kResources; ++r) used[r] += pairs_->uses(node.paces[k].app)[r];
  for (std::size_t k = 0; k < node.paces.size(); ++k) {
    Pace& own = node.paces[k];
    double strongest = 0;
    for (std::size_t other = 0; runs && other < node.paces.size(); ++other)
      if (other != k) strongest = std::max(strongest, pairs_->strength(own.app, node.paces[other].app));
    Slowdown slowed;
    if (runs && pairs_->shares()) {
      ByResource others = used;
      for (std::size_t r = 0; r < kResources; ++r) others[r] -= pairs_->uses(own.app)[r];
      slowed = pairs_->slowdown(own.app, others, node.machine.cores);
    }
    const double before = std::exchange(own.speed, 1 / ((1 + strongest) * slowed.real));
    own.shown_speed = 1 / ((1 + strongest) * slowed.shown);
    speeds += own.speed;
    shown_speeds += own.shown_speed;
    if (own.speed == before || own.endless) continue;
    const PodId pod = node.pods[k].id;
    own.ends = later(now_, elapsed_s(now_, own.ends) * (before / own.speed));
    events_.push({own.ends, pod, What::end, ++end_of_[pod]});
  }
  node.speed = node.paces.empty() ? 1 : speeds / static_cast<double>(node.paces.size());
  node.shown_speed = node.paces.empty() ? 1 : shown_speeds / static_cast<double>(node.paces.size());
}

template <class Time>
void Kernel<Time>::disturb(Observer& observer) {
  disturbed_ = true;
  for (std::size_t i = 0; pairs_ && i < nodes_.size(); ++i) {
    settle(i, observer);
    pace(i);
    change(i, observer);
  }
}

template <class Time>
void Kernel<Time>::settle(std::size_t i, Observer& observer) {
  Node& node = nodes_[i];
  const double dt_s = elapsed_s(node.since, now_);
  node.since = now_;
  if (!(dt_s > 0)) return;
  node.total.energy_j += node.power_w * dt_s;
  node.total.used_core_s += node.used_cores * dt_s;
  node.total.pressure_s += node.pressure_ratio * dt_s;
  node.total.shown_pressure_s += node.shown_pressure_ratio * dt_s;
  if (node.power == Power::awake || node.power == Power::waking) node.total.awake_s += dt_s;
  const double pods_s = dt_s * static_cast<double>(node.pods.size());
  pod_s_ += pods_s;
  pressure_pod_s_ += node.pressure_ratio * pods_s;
  work_pod_s_ += node.speed * pods_s;
  observer.ran(i, dt_s);
}

template <class Time>
void Kernel<Time>::settle(Observer& observer) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) settle(i, observer);
}

template <class Time>
void Kernel<Time>::change(std::size_t i, Observer& observer) {
  refresh(i);
  observer.changed(i);
}

template <class Time>
void Kernel<Time>::update(std::size_t i, Observer& observer) {
  settle(i, observer);
  change(i, observer);
}

template <class Time>
void Kernel<Time>::fall_asleep_later(std::size_t i) {
  Node& node = nodes_[i];
  if (!sleep_.idle_sleep || node.power != Power::awake || !node.pods.empty()) return;
  events_.push({later(now_, sleep_.after_s), i, What::sleep, ++node.generation});
}

template <class Time>
void Kernel<Time>::advance_to(Time when, Observer& observer) {
  while (due(when)) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    happen(event, observer);
  }
  now_ = when;
}

template <class Time>
void Kernel<Time>::happen(const Event& event, Observer& observer) {
  if (event.what == What::end) {
    const bool outdated = pairs_ && end_of_[event.who] != event.generation;
    if (!outdated && node_of(event.who) != kNowhere) remove(event.who, observer);
    return;
  }
  Node& node = nodes_[event.who];
  if (node.generation != event.generation) return;
  settle(event.who, observer);
  if (event.what == What::sleep) {
    node.power = Power::asleep;
  } else {
    node.power = Power::awake;
    observer.woke(event.who);
    fall_asleep_later(event.who);
  }
  pace(event.who);
  change(event.who, observer);
}

template <class Time>
void Kernel<Time>::place(PodId pod, std::size_t i, double wanted_cores, double life_s, Observer& observer,
                         std::size_t app) {
  assert(i < nodes_.size() && node_of(pod) == kNowhere);
  settle(i, observer);
  Node& node = nodes_[i];
  if (node.power == Power::asleep) {
    node.power = Power::waking;
    node.wakes_at = later(now_, node.machine.wake_time_s);
    ++wakes_;
    events_.push({node.wakes_at, i, What::wake, ++node.generation});
  } else if (node.power == Power::awake) {
    ++node.generation;  // cancels the pending sleep
  }
  node.pods.push_back({pod, wanted_cores, now_});
  if (pod >= node_of_.size()) node_of_.resize(pod + 1, kNowhere);
  node_of_[pod] = i;
  std::uint32_t generation = 0;
  if (pairs_) {
    const bool endless = !std::isfinite(life_s);
    node.paces.push_back({app, 1, 1, endless, endless ? now_ : later(now_, life_s)});
    if (pod >= end_of_.size()) end_of_.resize(pod + 1);
    generation = end_of_[pod];
  }
  if (std::isfinite(life_s)) events_.push({later(now_, life_s), pod, What::end, generation});
  pace(i);
  change(i, observer);
}

template <class Time>
void Kernel<Time>::remove(PodId pod, Observer& observer) {
  const std::size_t i = node_of(pod);
  assert(i != kNowhere);
  settle(i, observer);
  auto& pods = nodes_[i].pods;
  const auto found = std::find_if(pods.begin(), pods.end(), [&](const Pod& each) { return each.id == pod; });
  assert(found != pods.end());
  const auto position = static_cast<std::size_t>(found - pods.begin());
  pods.erase(found);
  if (pairs_) {
    nodes_[i].paces.erase(nodes_[i].paces.begin() + static_cast<std::ptrdiff_t>(position));
    ++end_of_[pod];
  }
  node_of_[pod] = kNowhere;
  pace(i);
  fall_asleep_later(i);
  observer.ended(pod, i, position);
  change(i, observer);
}

template <class Time>
void Kernel<Time>::fail(std::size_t i, Observer& observer) {
  settle(i, observer);
  nodes_[i].power = Power::gone;
  ++nodes_[i].generation;
  pace(i);
  change(i, observer);
}

template <class Time>
void Kernel<Time>::repair(std::size_t i, Observer& observer) {
  settle(i, observer);
  nodes_[i].power = Power::awake;
  ++nodes_[i].generation;
  fall_asleep_later(i);
  pace(i);
  change(i, observer);
}

template <class Time>
void Kernel<Time>::set_watts(std::size_t i, const Watts& watts, Observer& observer) {
  settle(i, observer);
  nodes_[i].machine.watts = watts;
  change(i, observer);
}

template <class Time>
void Kernel<Time>::forget() {
  for (Node& node : nodes_) node.total = {};
  pod_s_ = pressure_pod_s_ = work_pod_s_ = 0;
  wakes_ = 0;
}

template <class Time>
double Kernel<Time>::energy_j() const {
  double sum_j = 0;
  for (const Node& node : nodes_) sum_j += node.total.energy_j;
  return sum_j;
}

template <class Time>
double Kernel<Time>::awake_node_s() const {
  double sum_s = 0;
  for (const Node& node : nodes_) sum_s += node.total.awake_s;
  return sum_s;
}

template class Kernel<double>;
template class Kernel<MonoTime>;

}  // namespace wattle::sim::cluster
