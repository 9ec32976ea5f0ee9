#include "sim/live/drive.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/json/value.hpp"
#include "placement/cluster/power_curve.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::live {

namespace {

constexpr std::chrono::milliseconds kSwarmTimeout{500};
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
      extender_(options.shim, options.deadline, clock),
      observer_(options.swarm, options.controller, options.shim),
      swarm_(options.swarm.host, options.swarm.port),
      workload_({thesis_profile()}, WorkloadOptions{.endless = true}, options.seed),
      random_(mix(options.seed, 1)),
      random_default_(mix(options.seed, 2)) {}

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
  WATTLE_TRY(SwarmView view, observer_.swarm());
  clear_leftovers();
  nodes_ = std::move(view.nodes);
  swarm_epoch_ = std::move(view.epoch);
  if (real_) nodes_.push_back(this_machine());
  wattle_.emplace(nodes_);
  default_.emplace(nodes_);
  if (options_.twin_shim && options_.twin_swarm && options_.twin_controller)
    twin_.emplace(Twin::Addresses{*options_.twin_shim, *options_.twin_swarm, *options_.twin_controller},
                  options_.deadline, options_.weight, mix(options_.seed, 3), nodes_, clock_);
  started_ = accounted_ = next_pod_ = next_look_ = clock_.mono();
  end_ = started_ + from_seconds(options_.run_s);
  return {};
}

// Removes pods that an earlier driver, perhaps killed, has left on simulated nodes.
void Driver::clear_leftovers() {
  const auto body = get(swarm_, "/pods", kSwarmTimeout);
  if (!body) return;
  const auto document = SortedJson::read(*body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!document.is_object() || !document.contains("pods") || !document["pods"].is_array()) return;
  for (const auto& pod : document["pods"]) {
    const std::string uid = pod.is_object() ? pod.value("uid", "") : "";
    if (process_of_marked_uid(uid) != 0) withdraw(uid);
  }
}

double Driver::elapsed_s() const { return seconds(std::min(clock_.mono(), end_) - started_); }

std::size_t Driver::phase() const {
  if (!observer_.closed.empty()) return kSleeping;
  const auto& status = observer_.status;
  if (!status || status->mode == "off" || status->mode == "shadow") return 0;
  return status->learned_serves ? kLearned : 1;
}

void Driver::account(MonoTime now) {
  const double dt_s = seconds(now - accounted_);
  accounted_ = now;
  PhaseCosts& sum = phases_[phase()];
  const Costs before = wattle_->costs(), before_default = default_->costs();
  wattle_->advance(dt_s);
  default_->advance(dt_s);
  sum.seconds += dt_s;
  sum.energy_j += wattle_->costs().energy_j - before.energy_j;
  sum.default_energy_j += default_->costs().energy_j - before_default.energy_j;
  if (twin_) {
    const double before_twin_j = twin_->ledger().costs().energy_j;
    twin_->advance(dt_s);
    sum.twin_energy_j += twin_->ledger().costs().energy_j - before_twin_j;
  }
  sum.soft_pod_seconds += wattle_->costs().soft_pod_seconds - before.soft_pod_seconds;
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

// Takes over the true state of the simulated nodes.
void Driver::take(const std::vector<DriveNode>& seen) {
  for (const DriveNode& each : seen)
    for (DriveNode& node : nodes_)
      if (!node.real && node.server.name == each.server.name) {
        node.latency_ms = each.latency_ms;
        node.power = each.power;
      }
  wattle_->set_power(nodes_);
}

// Updates the latencies of both accounts, then delivers pods that a node does not have yet.
void Driver::look() {
  account(clock_.mono());
  if (auto view = observer_.swarm()) {
    take(view->nodes);
    if (view->epoch != swarm_epoch_) {
      swarm_epoch_ = std::move(view->epoch);
      ++counts_.swarm_restarts;
      log_.warn("drive.swarm_restarted", "the swarm has restarted; its pods are started again");
      for (Bound& bound : window_)
        if (!nodes_[bound.node].real) bound.delivered = false;
    }
  }
  observer_.look_at_controller();
  observer_.look_at_shim();
  for (DriveNode& node : nodes_) {
    if (!node.real) continue;
    for (const ControllerNode& row : observer_.nodes)
      if (row.name == node.server.name) node.latency_ms = row.latency_ms;
  }
  wattle_->set_latencies(nodes_);
  default_->set_latencies(nodes_);
  if (twin_) {
    twin_->look(nodes_);
    twin_->retry();
  }

  for (auto uid = to_withdraw_.begin(); uid != to_withdraw_.end();)
    uid = withdraw(*uid) ? to_withdraw_.erase(uid) : std::next(uid);
  for (Bound& bound : window_) {
    if (bound.delivered) continue;
    ++counts_.swarm_retries;
    if (!deliver(bound)) break;
  }
}

void Driver::replace_one() {
  account(clock_.mono());
  if (window_.size() >= options_.pods) remove_oldest();
  create();
}

std::optional<std::size_t> Driver::schedule(const SimPod& pod, const KubePod& request) {
  std::vector<std::size_t> feasible;
  std::vector<std::string> names, closed;
  std::vector<KubeNode> kube;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!fits(wattle_->kube_nodes()[i], request) || (nodes_[i].real && !real_usable_)) continue;
    if (observer_.closed.contains(nodes_[i].server.name)) {
      closed.push_back(nodes_[i].server.name);
      continue;
    }
    feasible.push_back(i);
    names.push_back(nodes_[i].server.name);
    kube.push_back(wattle_->kube_nodes()[i]);
  }
  if (names.empty() && !closed.empty()) {  // the pod becomes known, and a node wakes for it
    static_cast<void>(extender_.prioritize(pod.spec, closed));
    return std::nullopt;
  }
  if (names.empty()) return std::nullopt;
  // kube-scheduler asks for no scores of a single node. Without an API server, Wattle knows the names of pods from
  // requests alone, so each pod is asked for; the answer about one node changes nothing.
  const std::vector<std::int64_t> scores = extender_.prioritize(pod.spec, names);
  const auto winner = select_node(kube, request, scores, options_.weight, random_);
  if (!winner) return std::nullopt;
  return feasible[*winner];
}

// A node selector leaves one feasible node: the pod is bound to it in both accounts. Such pods give this machine a load
// even if it is never advised.
std::optional<std::size_t> Driver::pinned_node() const {
  if (created_ % kPinEvery != kPinEvery / 2) return std::nullopt;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].real && real_usable_ && wattle_->pods_on(i) < nodes_[i].pod_limit) return i;
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
  if (pinned) static_cast<void>(extender_.prioritize(pod.spec, {nodes_[*pinned].server.name}));  // its name
  auto node = pinned ? pinned : schedule(pod, request);
  if (node && nodes_[*node].real) {
    constexpr double bound_percent = kRealPods_percent / kRealPods;
    const Status started = real_->start(pod.spec.uid, std::min(pod.mean_demand_cores * 100, bound_percent));
    if (!started) {
      ++counts_.real_failures;
      real_usable_ = false;
      log_.warn("drive.machine_full", "this machine cannot start more pods", {{"error", started.error()}});
      node = schedule(pod, request);
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
  wattle_->place(*node, ledger_pod);
  if (pinned && *pinned == *node) {
    ++counts_.pinned;
    default_->place(*node, ledger_pod);
  } else if (const auto other = select_node(default_->kube_nodes(), request, {}, 0, random_default_))
    default_->place(*other, ledger_pod);
  if (twin_) twin_->place(pod, ledger_pod, nodes_[*node].real ? node : std::nullopt);
  window_.push_back({pod.spec.uid, pod.spec.name, *node, pod, nodes_[*node].real});
  if (!window_.back().delivered) deliver(window_.back());
}

void Driver::remove_oldest() {
  const Bound bound = std::move(window_.front());
  window_.pop_front();
  ++counts_.removed;
  wattle_->remove(bound.uid);
  default_->remove(bound.uid);
  if (twin_) twin_->remove(bound.uid);
  if (nodes_[bound.node].real) {
    if (const Status stopped = real_->stop(bound.uid); !stopped)
      log_.warn("drive.cgroup_left", "the cgroup of a pod could not be removed", {{"error", stopped.error()}});
  } else if (bound.delivered && !withdraw(bound.uid)) {
    to_withdraw_.insert(bound.uid);
  }
}

bool Driver::deliver(Bound& bound) {
  const std::string body = swarm_pod(bound.name, nodes_[bound.node].server.name, bound.pod);
  const auto answer = swarm_.request("POST", "/pods", body, kSwarmTimeout);
  if (!answer) return false;
  if (answer->status != 201)
    log_.warn("drive.pod_refused", "the swarm rejected a pod",
              {{"pod", bound.name}, {"status", answer->status}, {"answer", answer->body}});
  bound.delivered = true;
  return true;
}

bool Driver::withdraw(const std::string& uid) {
  const auto answer = swarm_.request("DELETE", "/pods/" + uid, "", kSwarmTimeout);
  return answer.has_value();  // 404: it is gone already
}

void Driver::finish() {
  // Transitions since the last look belong to the last interval.
  if (const auto view = observer_.swarm()) take(view->nodes);
  account(std::min(clock_.mono(), end_));
  observer_.look_at_controller();
  observer_.look_at_shim();
  bool swarm_there = true;
  for (const Bound& bound : window_) {
    if (nodes_[bound.node].real)
      static_cast<void>(real_->stop(bound.uid));
    else if (swarm_there)
      swarm_there = withdraw(bound.uid);
  }
  if (twin_) twin_->remove_all();
  window_.clear();
}

}  // namespace wattle::sim::live
