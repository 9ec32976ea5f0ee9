#include "tests/unit/placement/sleep_rig.hpp"

#include <algorithm>

namespace wattle::placement::sleep::testing {

namespace {

using Kind = PowerEvent::Kind;

constexpr double kNodeCores = 8;
constexpr std::size_t kOwners = 6;
constexpr Duration kTick = std::chrono::seconds(10);
constexpr Duration kBoot = std::chrono::seconds(60);
constexpr Duration kSilent = std::chrono::seconds(40);
constexpr Duration kEvictAfter = std::chrono::minutes(5);  // Kubernetes' eviction from a node that is not ready

}  // namespace

SleepRig::SleepRig(std::size_t nodes, bool observable, std::uint64_t seed) : random_(seed) {
  config_.rules.spare_nodes = 0;
  config_.rules.survive_node_loss = false;
  config_.rules.down_after = std::chrono::minutes(2);
  config_.rules.up_after = std::chrono::minutes(1);
  config_.rules.stay_awake = std::chrono::seconds(0);
  config_.rules.cycles_per_day = 100'000;
  config_.rules.sleeps_per_hour = 1000;
  config_.rules.proven_round_trips = 0;
  config_.moves.moves_ratio = 0.5;
  config_.moves.owner_rest = std::chrono::seconds(20);
  config_.moves.pod_rest = std::chrono::hours(1);
  config_.least_j_per_move = 1000;
  // Every sleep may be as short as the demand allows: the days do not repeat.
  config_.gap_times = 0;
  limits_.failed = std::chrono::minutes(5);
  limits_.blocked = std::chrono::minutes(30);
  nodes_.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    nodes_[i].record.node = "n" + std::to_string(i);
    nodes_[i].record.state = PowerState::awake;
    nodes_[i].record.since = nodes_[i].contact = now_;
    nodes_[i].record.observable = observable;
  }
}

void SleepRig::breach(std::size_t node, const std::string& what) {
  if (breaches.size() < 20)
    breaches.push_back(nodes_[node].record.node + " " + std::string(to_string(nodes_[node].record.state)) + ": " +
                       what);
}

bool SleepRig::happens(double chance, const char* fault) {
  if (!(stats::uniform(random_) < chance)) return false;
  ++faults[fault];
  return true;
}

std::vector<std::size_t> SleepRig::pods_on(std::size_t node) const {
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < pods_.size(); ++i)
    if (pods_[i].node == node) there.push_back(i);
  return there;
}

double SleepRig::cores_on(std::size_t node) const {
  double cores = 0;
  for (const std::size_t pod : pods_on(node)) cores += pods_[pod].cores;
  return cores;
}

std::size_t SleepRig::pending() const {
  return static_cast<std::size_t>(std::count_if(pods_.begin(), pods_.end(), [](const Pod& pod) { return !pod.node; }));
}
std::size_t SleepRig::running() const { return pods_.size() - pending(); }
bool SleepRig::all_take_pods() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return takes_pods(node.record); });
}

// At most one pod of an owner may be away.
bool SleepRig::budget_allows(const std::string& owner) const {
  return std::none_of(pods_.begin(), pods_.end(), [&](const Pod& pod) { return pod.owner == owner && !pod.node; });
}

void SleepRig::event(std::size_t node, PowerEvent event) {
  if (restarting_) return;
  const std::size_t times = happens(chances_.twice, "twice") ? 2 : 1;
  for (std::size_t i = 0; i < times && !restarting_; ++i)
    store_and_act(node, step(nodes_[node].record, event, now_, limits_));
}

void SleepRig::store_and_act(std::size_t node, const PowerStep& step) {
  if (step.record.state == PowerState::asleep && nodes_[node].record.state != PowerState::asleep) ++sleeps;
  nodes_[node].record = step.record;
  if (step.changed && happens(chances_.restart, "restart before an action")) restarting_ = true;
  if (restarting_) return;
  act(node, step.action);
  if (step.changed && happens(chances_.restart, "restart after an action")) restarting_ = true;
}

void SleepRig::act(std::size_t i, PowerAction action) {
  Node& node = nodes_[i];
  switch (action) {
    case PowerAction::none:
    case PowerAction::evict:  // follow_drain does this
      return;
    case PowerAction::mark:
      if (node.record.state == PowerState::failed) breach(i, "a failed node gets marks");
      node.marks = true;
      return event(i, {Kind::marked, 0});
    case PowerAction::unmark:
      node.marks = false;
      return event(i, {Kind::unmarked, 0});
    case PowerAction::sleep:
      return order_sleep(i);
    case PowerAction::wake:
      return order_wake(i);
    case PowerAction::observe:
      return event(i, {Kind::observed, 0, observe(i)});
  }
}

void SleepRig::order_sleep(std::size_t i) {
  Node& node = nodes_[i];
  const std::uint64_t operation = node.record.operation;
  if (happens(chances_.bmc_denies, "sleep denied") || happens(chances_.refused, "sleep refused"))
    return event(i, {Kind::action_failed, operation, Observed::unknown, Depth::suspend, "refused"});
  if (!node.on || !node.agent || node.slept_by == operation || happens(chances_.order_lost, "order lost")) return;
  node.slept_by = operation;
  if (!pods_on(i).empty()) breach(i, "goes to sleep with pods");
  if (!node.marks) breach(i, "goes to sleep without marks");
  const bool aborted = happens(chances_.aborted, "suspend aborted");
  if (aborted)
    node.resumes_at = now_ + std::chrono::seconds(30);
  else
    node.on = node.agent = false;
  if (!happens(chances_.lost_goodbye, "goodbye lost")) event(i, {Kind::goodbye, operation});
}

void SleepRig::order_wake(std::size_t i) {
  Node& node = nodes_[i];
  const std::uint64_t operation = node.record.operation;
  if (happens(chances_.bmc_denies, "wake denied"))
    return event(i, {Kind::action_failed, operation, Observed::unknown, Depth::suspend, "denied"});
  if (node.on || node.booting || happens(chances_.no_wake, "wake without effect")) return;
  ++wakes;
  node.booting = true;
  node.boots_at = now_ + kBoot;
}

Observed SleepRig::observe(std::size_t i) {
  if (!nodes_[i].record.observable || happens(chances_.bmc_silent, "BMC silent")) return Observed::unknown;
  const bool on = nodes_[i].on || nodes_[i].booting;
  if (happens(chances_.bmc_lies, "BMC lies")) return on ? Observed::off : Observed::on;
  return on ? Observed::on : Observed::off;
}

// The controller loses its memory; records, ledger and outlook are in its store.
void SleepRig::restart() {
  ++restarts;
  restarting_ = false;
  drain_.reset();
  for (std::size_t i = 0; i < nodes_.size() && !restarting_; ++i) {
    nodes_[i].contact_known = false;
    PackWriter out;
    nodes_[i].record.pack(out);
    const std::string bytes = out.take();
    PackReader in(bytes);
    nodes_[i].record = {};
    nodes_[i].record.unpack(in);
    store_and_act(i, recover(nodes_[i].record, observe(i), now_, limits_));
  }
}

void SleepRig::evolve() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const bool sleeper = !node.on && !node.booting && node.record.state == PowerState::asleep;
    if (sleeper && happens(chances_.spurious_wake, "spurious wake")) {
      node.booting = true;
      node.boots_at = now_ + kBoot;
    }
    if (node.on && happens(chances_.crash, "crash")) {
      node.on = node.agent = false;
      node.resumes_at.reset();
      node.booting = true;  // an operator or a watchdog
      node.boots_at = now_ + std::chrono::minutes(20);
    }
    if (node.booting && now_ >= node.boots_at) {
      node.booting = false;
      node.on = node.agent = true;
      node.returned = now_;
    }
    if (node.resumes_at && now_ >= *node.resumes_at) {
      node.resumes_at.reset();
      node.returned = now_;
    }
    if (kubelet_ready(node)) node.contact = now_;
    // Kubernetes evicts the pods of a node that has been away for long.
    if (now_ - node.contact > kEvictAfter)
      for (const std::size_t pod : pods_on(i)) pods_[pod].node.reset();
  }
}

void SleepRig::scale() {
  while (pods_.size() > wanted_)
    pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(stats::pick(random_, pods_.size())));
  while (pods_.size() < wanted_) {
    ++made_;
    pods_.push_back({"pod-" + std::to_string(made_), "owner-" + std::to_string(made_ % kOwners), std::nullopt});
  }
}

// First fit, and sometimes another node.
void SleepRig::schedule() {
  for (Pod& pod : pods_) {
    if (pod.node) continue;
    const std::size_t from = stats::uniform(random_) < 0.1 ? stats::pick(random_, nodes_.size()) : 0;
    for (std::size_t k = 0; k < nodes_.size() && !pod.node; ++k) {
      const std::size_t i = (from + k) % nodes_.size();
      const Node& node = nodes_[i];
      if (node.marks || now_ - node.contact > kSilent || cores_on(i) + pod.cores > kNodeCores) continue;
      pod.node = i;
      if (drain_) drain_->landed(pod.owner, node.record.node);
    }
  }
}

void SleepRig::follow_drain() {
  if (!drain_) return;
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.record.node == drain_->node(); });
  const auto i = static_cast<std::size_t>(found - nodes_.begin());
  if (found->record.state != PowerState::draining) return drain_.reset();
  if (const auto reason = drain_->stopped(now_, config_.moves)) {
    event(i, {Kind::drain_stopped, found->record.operation, Observed::unknown, Depth::suspend, *reason});
    return drain_.reset();
  }
  for (const Move& move : drain_->reserved()) {
    const bool there = std::any_of(pods_.begin(), pods_.end(), [&](const Pod& pod) { return pod.uid == move.pod; });
    if (!there) drain_->ended(move.pod);
  }
  for (const Move& move : drain_->next(pods_.size(), now_, config_.moves, ledger_)) {
    const auto pod = std::find_if(pods_.begin(), pods_.end(), [&](const Pod& each) { return each.uid == move.pod; });
    if (pod == pods_.end()) continue;
    if (!budget_allows(pod->owner)) {
      drain_->refused(move.pod, ledger_);
      continue;
    }
    ++evictions;
    pod->uid = "pod-" + std::to_string(++made_);  // its replacement
    pod->node.reset();
    ledger_.replaced_by(pod->uid, now_);
  }
}

void SleepRig::control() {
  double requested = 0;
  for (const Pod& pod : pods_) requested += pod.cores;
  outlook_.observe(requested, now_);
  for (std::size_t i = 0; i < nodes_.size() && !restarting_; ++i) {
    Node& node = nodes_[i];
    const bool fresh = now_ - node.contact <= kSilent;
    const PowerState state = node.record.state;
    if (kubelet_ready(node) && (!node.contact_known || node.returned == now_)) {
      node.contact_known = true;
      event(i, {Kind::agent_returned, 0});
    } else if (!fresh && node.contact_known) {
      node.contact_known = false;
      event(i, {Kind::contact_lost, 0, Observed::unknown, Depth::suspend, "silent"});
    }
    if (kubelet_ready(node) && state == PowerState::probation) event(i, {Kind::ready, 0});
    const bool leaves = state == PowerState::idle || state == PowerState::draining;
    if (leaves && node.marks && pods_on(i).empty() && fresh) event(i, {Kind::drained, node.record.operation});
    if (state == PowerState::idle && !pods_on(i).empty()) event(i, {Kind::drain_stopped, node.record.operation});
    event(i, {Kind::deadline, 0});
    const PowerAction again = action_of(nodes_[i].record);
    if (!restarting_ && (again == PowerAction::observe || again == PowerAction::unmark)) act(i, again);
  }
  if (!restarting_) follow_drain();
  if (!restarting_) plan();
}

void SleepRig::plan() {
  Fleet fleet;
  std::vector<SleepNode> rows;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    FleetNode there;
    there.allocatable = {kNodeCores, 1e12};
    there.watts = {95, 100, 105, 110, 115, 120, 125, 130, 135, 140, 145};
    SleepNode row{node.record.node, {}, node.record, now_ - node.contact <= kSilent, {}, static_cast<double>(i)};
    row.facts.mode = SleepMode::automatic;
    row.facts.can_sleep = row.facts.can_wake = true;
    for (const std::size_t pod : pods_on(i)) {
      const PodEstimate estimate{{pods_[pod].cores, 0}, 0.5 * pods_[pod].cores, 1e9};
      row.pods.push_back({pods_[pod].uid, pods_[pod].uid, pods_[pod].owner, estimate});
      there.requested.cpu_cores += pods_[pod].cores;
      there.used_cores += 0.5 * pods_[pod].cores;
      ++there.pods;
    }
    fleet.nodes.push_back(there);
    rows.push_back(std::move(row));
  }
  std::vector<PendingPod> waiting;
  for (const Pod& pod : pods_)
    if (!pod.node) waiting.push_back({pod.uid, pod.uid, {{pod.cores, 0}, 0.5 * pod.cores, 1e9}});
  SleepInputs in;
  in.now = now_;
  in.fleet = &fleet;
  in.nodes = rows;
  in.pending = waiting;
  in.outlook = &outlook_;
  in.ledger = &ledger_;
  SleepPlan plan = plan_sleep(in, config_);
  for (const WakeChoice& wake : plan.wakes) {
    ledger_.woke(now_);
    event(wake.row, {Kind::wake_wanted, 0, Observed::unknown, Depth::suspend, wake.reason});
  }
  for (SleepChoice& sleep : plan.sleeps) {
    if (restarting_) break;
    ledger_.slept(now_);
    const bool drains_first = !sleep.moves.empty();
    if (drains_first) {
      ++drains;
      drain_ = std::make_unique<Drain>(sleep.node, std::move(sleep.moves));
    }
    event(sleep.row,
          {drains_first ? Kind::chosen_drain : Kind::chosen, 0, Observed::unknown, sleep.depth, sleep.reason});
  }
  ledger_.forget_before(now_ - std::chrono::hours(25));
}

void SleepRig::check() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.record.state == PowerState::asleep && !pods_on(i).empty()) breach(i, "asleep with pods");
    if (node.record.state == PowerState::asleep && !node.marks) breach(i, "asleep without marks");
    if (node.record.state == PowerState::failed && node.marks && !restarting_) breach(i, "failed with marks");
    const auto due = deadline_of(node.record, limits_);
    if (due && now_ > *due + kTick) breach(i, "stuck beyond its limit");
  }
  if (pods_.size() != wanted_) breach(0, "a pod is lost");
}

void SleepRig::tick() {
  now_ += kTick;
  scale();
  evolve();
  schedule();
  if (happens(chances_.restart, "restart")) restarting_ = true;
  while (restarting_) restart();
  control();
  while (restarting_) restart();
  check();
}

}  // namespace wattle::placement::sleep::testing
