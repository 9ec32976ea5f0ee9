#include "sim/live/drive.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "placement/cluster/power_curve.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::live {

namespace {

constexpr double kLookEvery_s = 1.0;
constexpr double kFillFaster = 3;         // ratio of the speed of filling the window to that of replacing pods
constexpr std::size_t kRealPods = 2;      // limit of pods on this machine
constexpr double kRealPods_percent = 40;  // their limit of one core in total
constexpr std::uint32_t kPinEvery = 10;   // every n-th pod has a node selector for this machine

}  // namespace

Driver::Driver(const DriveOptions& options, std::optional<CgroupPods> real, const Clock& clock, const Log& log)
    : options_(options),
      real_(std::move(real)),
      clock_(clock),
      log_(log),
      run_(mix(options.seed, static_cast<std::uint64_t>(to_ns(clock.wall())))),
      wattle_(options, options.deadline, options.weight, mix(options.seed, 1), clock, log),
      workload_({thesis_profile()}, WorkloadOptions{.endless = true}, options.seed),
      random_default_(mix(options.seed, 2)) {
  if (options.twin) twin_.emplace(*options.twin, options.deadline, options.weight, mix(options.seed, 3), clock, log);
}

// This machine's true curve is unknown: a typical one for its cores replaces it, the same in both accounts.
DriveNode Driver::this_machine() const {
  DriveNode node;
  node.real = true;
  node.server.name = options_.real_node;
  node.server.cores = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  node.server.memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  node.server.watts = placement::PowerCurve::prior(node.server.cores).points();
  node.pod_limit = kRealPods;
  return node;
}

Status Driver::begin() {
  WATTLE_TRY(SwarmView view, wattle_.observer().swarm());
  if (real_) view.nodes.push_back(this_machine());
  default_.emplace(view.nodes);
  if (twin_) twin_->begin(view.nodes);
  wattle_.begin(std::move(view.nodes));
  started_ = accounted_ = next_pod_ = next_look_ = clock_.mono();
  end_ = started_ + from_seconds(options_.run_s);
  return {};
}

double Driver::elapsed_s() const { return seconds(std::min(clock_.mono(), end_) - started_); }

std::size_t Driver::phase() const {
  if (!observer().closed.empty()) return kSleeping;
  const auto& status = observer().status;
  if (!status || status->mode == "off" || status->mode == "shadow") return 0;
  return status->learned_serves ? kLearned : 1;
}

void Driver::account(MonoTime now) {
  const double dt_s = seconds(now - accounted_);
  accounted_ = now;
  PhaseCosts& sum = phases_[phase()];
  const Costs before = wattle().costs(), before_default = default_->costs();
  wattle_.ledger().advance(dt_s);
  default_->advance(dt_s);
  sum.seconds += dt_s;
  sum.energy_j += wattle().costs().energy_j - before.energy_j;
  sum.default_energy_j += default_->costs().energy_j - before_default.energy_j;
  if (twin_) {
    const double before_twin_j = twin_->ledger().costs().energy_j;
    twin_->ledger().advance(dt_s);
    sum.twin_energy_j += twin_->ledger().costs().energy_j - before_twin_j;
  }
  sum.soft_pod_seconds += wattle().costs().soft_pod_seconds - before.soft_pod_seconds;
  sum.default_soft_pod_seconds += default_->costs().soft_pod_seconds - before_default.soft_pod_seconds;
}

MonoTime Driver::step() {
  const MonoTime now = clock_.mono();
  if (now >= next_look_) {
    look();
    next_look_ = std::max(next_look_ + from_seconds(kLookEvery_s), now);
  }
  if (now >= next_pod_) {
    const bool full = window_.size() >= options_.pods;
    const double step_s = full ? options_.period_s : options_.period_s / kFillFaster;
    // A late scheduler does not catch up in a burst.
    next_pod_ = std::max(next_pod_ + from_seconds(step_s), now);
    replace_one();
  }
  return std::min({next_look_, next_pod_, end_});
}

// Updates the latencies of all accounts, then delivers pods that a node does not have yet.
void Driver::look() {
  account(clock_.mono());
  wattle_.read_swarm();
  wattle_.look_at_controller();
  wattle_.observer().look_at_shim();
  wattle_.ledger().set_latencies(nodes());
  default_->set_latencies(nodes());
  if (twin_) {
    twin_->read_swarm();
    twin_->look_at_controller();
    twin_->ledger().set_latencies(nodes());
    twin_->retry();
  }
  wattle_.retry();
}

void Driver::replace_one() {
  account(clock_.mono());
  if (window_.size() >= options_.pods) remove_oldest();
  create();
}

// A node selector leaves one node, in both accounts, so that this machine has a load even if it is never advised.
std::optional<std::size_t> Driver::pinned_node() const {
  if (created_ % kPinEvery != kPinEvery / 2) return std::nullopt;
  for (std::size_t i = 0; i < nodes().size(); ++i)
    if (nodes()[i].real && real_usable_ && wattle().pods_on(i) < nodes()[i].pod_limit) return i;
  return std::nullopt;
}

Driver::Arrived Driver::arrive() {
  SimPod pod = workload_.next();
  pod.spec.uid = marked_pod_uid(run_, getpid(), created_++);
  pod.spec.name = "web-5d9c7b-" + std::to_string(created_);
  const KubePod request = kube_pod(pod.spec.request);
  LedgerPod ledger_pod{pod.spec.uid, request, pod.mean_demand_cores, pod.spec.latency_soft_ms,
                       pod.spec.latency_hard_ms};
  return {std::move(pod), request, std::move(ledger_pod)};
}

void Driver::create() {
  const bool waited = waiting_.has_value();
  Arrived arrived = waited ? std::move(*waiting_) : arrive();
  waiting_.reset();
  const auto& [pod, request, ledger_pod] = arrived;
  const auto pinned = pinned_node();
  auto node = wattle_.choose(pod.spec, request, real_usable_, pinned);
  if (node && nodes()[*node].real) {
    constexpr double bound_percent = kRealPods_percent / kRealPods;
    const Status started = real_->start(pod.spec.uid, std::min(pod.mean_demand_cores * 100, bound_percent));
    if (!started) {
      ++counts_.real_failures;
      real_usable_ = false;
      log_.warn("drive.machine_full", "this machine cannot start more pods", {{"error", started.error()}});
      node = wattle_.choose(pod.spec, request, real_usable_);
    } else {
      ++counts_.on_real;
    }
  }
  if (!node) {
    counts_.unschedulable += waited ? 0 : 1;
    waiting_ = std::move(arrived);
    return;
  }
  account(clock_.mono());  // the request took time
  const bool real = nodes()[*node].real;
  window_.push_back({pod.spec.uid, real});
  if (pinned && *pinned == *node) {
    ++counts_.pinned;
    default_->place(*node, ledger_pod);
  } else if (const auto other = select_node(default_->kube_nodes(), request, {}, 0, random_default_)) {
    default_->place(*other, ledger_pod);
  }
  if (twin_)  // a pod that fits nowhere is left out
    if (const auto there = real ? node : twin_->choose(pod.spec, request, false)) twin_->place(*there, pod, ledger_pod);
  wattle_.place(*node, pod, ledger_pod);
}

void Driver::remove_oldest() {
  const Bound bound = std::move(window_.front());
  window_.pop_front();
  ++counts_.removed;
  wattle_.remove(bound.uid);
  default_->remove(bound.uid);
  if (twin_) twin_->remove(bound.uid);
  if (!bound.real) return;
  if (const Status stopped = real_->stop(bound.uid); !stopped)
    log_.warn("drive.cgroup_left", "the cgroup of a pod could not be removed", {{"error", stopped.error()}});
}

void Driver::finish() {
  wattle_.read_swarm();  // transitions since the last look belong to the last interval
  account(std::min(clock_.mono(), end_));
  wattle_.look_at_controller();
  wattle_.observer().look_at_shim();
  for (const Bound& bound : window_)
    if (bound.real) static_cast<void>(real_->stop(bound.uid));
  wattle_.remove_all();
  if (twin_) twin_->remove_all();
  window_.clear();
}

}  // namespace wattle::sim::live
