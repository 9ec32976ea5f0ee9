#include "controller/power/sleep_control.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/wire/codec.hpp"
#include "controller/ingest/clock_offset.hpp"
#include "controller/power/configured_power.hpp"
#include "controller/power/sleep_facts.hpp"
#include "controller/power/sleep_orders.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/node_labels.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

constexpr double kClockInSync_s = 1;

// A reason of the plan that does not prevent a test, because it is about demand and proof, not about the node.
bool allows_test(core::ExcludedFor cause) {
  using core::ExcludedFor;
  return cause == ExcludedFor::unproven || cause == ExcludedFor::woken_recently || cause == ExcludedFor::spare ||
         cause == ExcludedFor::gap || cause == ExcludedFor::saving || cause == ExcludedFor::rate ||
         cause == ExcludedFor::cycles;
}

}  // namespace

SleepControl::SleepControl(Around around)
    : around_(std::move(around)), pods_(around_.own_host), shallow_(around_.clock, around_.log) {
  std::shared_ptr<NodePower> power = around_.power;
  if (const auto& drivers = around_.settings.drivers; drivers && !power)
    power = std::make_shared<ConfiguredPower>(*drivers, around_.clock);
  if (around_.store.on()) {
    if (on()) memory_ = read_memory(around_.store, around_.clock, around_.log);
    begin_cycles(power);
  }
  if (!on()) return;
  if (around_.api || around_.settings.drivers)
    asker_ = std::make_unique<SleepAsker>(around_.api, around_.settings.drivers, power, around_.clock, around_.log);
  planner_ = std::make_unique<TaskThread>([] {});
}

// In modes other than auto, the cycles continue only while a node is not back yet.
void SleepControl::begin_cycles(std::shared_ptr<NodePower> power) {
  PowerCycles::Around around{around_.clock, around_.log, around_.settings.plan.rules, around_.settings.plan.moves, {}};
  cycles_ = std::make_unique<PowerCycles>(around, power_store_in(around_.store), std::move(power), around_.marks);
  if (const Status loaded = cycles_->load(); !loaded) {
    around_.log.error("sleep.records_lost", "the power records of nodes cannot be read, so no node sleeps by itself",
                      {{"error", loaded.error()}});
    cycles_.reset();
    return;
  }
  const bool automatic = around_.settings.mode == core::SleepMode::automatic;
  if (!automatic && !cycles_->any_sleeps()) return cycles_.reset();
  const std::string mode = "sleep.mode is " + std::string(to_string(around_.settings.mode));
  for (const auto& [node, record] : records()) {
    const bool begins = record.state == core::PowerState::idle;  // a test
    if (!on() || (begins && (!automatic || memory_.exclusions.contains(node))))
      cycles_->wake(node, automatic ? "it is excluded" : mode, false);
  }
}

bool SleepControl::acts() const {
  return around_.settings.mode == core::SleepMode::automatic && cycles_ && (!around_.api || cycles_->has_marks());
}

void SleepControl::described(const kube::Pod& pod) {
  if (!on()) return;
  const std::optional<bool> before = pods_.evicted(pod.uid);
  pods_.put(pod);
  if (!cycles_ || pod.daemonset || !pods_.bound(pod.uid)) return;
  if (!before && !pod.leaving)
    cycles_->bound(pod.uid, pod.pod_namespace + "/" + pod.name, pod.replica_of, pod.node_name);
  if (pod.leaving) cycles_->leaves(pod, before);
}

void SleepControl::gone(const std::string& uid) {
  if (!on()) return;
  pods_.erase(uid);
  if (cycles_) cycles_->gone(uid);
}

std::vector<wire::Hello> SleepControl::remembered() const {
  std::vector<wire::Hello> hellos;
  if (!cycles_) return hellos;
  for (const auto& [node, bytes] : cycles_->records().hellos()) {
    if (const auto* record = record_of(node); record == nullptr || takes_pods(*record)) continue;
    auto message = wire::decode(bytes);
    auto* hello = message ? std::get_if<wire::Hello>(&*message) : nullptr;
    if (hello != nullptr && hello->node == node) hellos.push_back(std::move(*hello));
  }
  return hellos;
}

void SleepControl::greeted(const wire::Hello& hello) {
  if (cycles_) cycles_->greeted(hello.node, wire::encode(hello));
}

void SleepControl::goodbye(const std::string& node, const wire::Goodbye& message) {
  if (cycles_) cycles_->goodbye(node, message);
}

void SleepControl::on_send(PowerActions::Send send) {
  shallow_.on_send(send);
  if (cycles_) cycles_->on_send(std::move(send));
}

const std::map<std::string, core::NodePowerRecord>& SleepControl::records() const {
  return cycles_ ? cycles_->records().all() : no_records_;
}

const core::NodePowerRecord* SleepControl::record_of(const std::string& node) const {
  return cycles_ ? cycles_->records().find(node) : nullptr;
}

core::SleepFacts SleepControl::facts_of(const std::string& name, const controller::Node& node) const {
  core::SleepFacts facts = power::facts_of(node, pods_, asker_ ? asker_->unsatisfied() : no_budgets_);
  facts.mode = std::min(asked_mode(node), around_.settings.mode);
  facts.can_sleep = facts.can_wake = around_.settings.drivers == nullptr;
  if (facts.mode == core::SleepMode::automatic && node.hello.version_max < wire::kSleepSince)
    facts.driver_problem = "its agent is too old to agree to a sleep; update it";
  // A node that sleeps has proven that it wakes.
  const core::NodePowerRecord* record = record_of(name);
  if (record != nullptr && !takes_pods(*record)) facts.can_wake = true;
  if (cycles_ && facts.emptied_by.empty())
    facts.emptied_by = cycles_->other_evictions().reason(name, around_.clock.mono());
  if (const auto found = memory_.exclusions.find(name); found != memory_.exclusions.end())
    facts.excluded_by = found->second;
  return facts;
}

void SleepControl::look(ClusterState& state, const ClockOffsets* clocks, const std::string& name,
                        const controller::Node* node) {
  NodeNow now;
  now.node.name = name;
  if (node != nullptr) {
    const core::SleepMode mode = asked_mode(*node);
    now.node.labels = labels_of(*node);
    now.managed = std::min(mode, around_.settings.mode) == core::SleepMode::automatic;
    now.forbidden = mode != core::SleepMode::automatic && (node->kube != nullptr || !around_.api);
    now.sampled_at = node->sampled_at;
    now.fresh = reports(*node, around_.clock.mono(), around_.stale_after_s);
    const core::NodePowerRecord* record = record_of(name);
    const bool slept = record != nullptr && record->ours;  // its clock may be wrong
    const double ahead_s = slept && clocks != nullptr ? clocks->ahead_s(name).value_or(0) : 0;
    now.ready = (node->kube == nullptr ? !around_.api : node->kube->ready && !node->deleted) &&
                std::abs(ahead_s) <= kClockInSync_s;
    now.pod = pod_on(state, *node);
    now.pods_read = pods_read();
    if (node->kube != nullptr) {
      now.held_by = node->kube->drainer.holds;
      now.emptied = !node->kube->drainer.empties.empty();
    }
    now.idle_w = state.view_of(*node).curve.idle_w();
    if (node->sampled_at && node->energy_j && node->power_w)
      now.reading = core::PowerReading{*node->sampled_at, *node->energy_j, *node->power_w};
  }
  if (const auto& drivers = around_.settings.drivers) {
    now.drivers = driver_names(*drivers, now.node);
    now.by_agent = sleeps_by_agent(*drivers, now.node);
  }
  const double idle_w = now.idle_w;
  cycles_->look(std::move(now));
  if (const core::NodePowerRecord* record = record_of(name))
    state.sleeps(name, shown_of(*record, idle_w, may_sleep(*record)));
}

// A node that runs, reports and is not about to change needs no further check.
Steps SleepControl::look_at_all(ClusterState& state, const ClockOffsets* clocks) {
  Steps nodes = each_of(state.nodes(), [this, &state, clocks](const auto& item) {
    const auto& [name, node] = item;
    const core::NodePowerRecord* record = record_of(name);
    if (record == nullptr && asked_mode(node) != core::SleepMode::automatic) return;
    const bool fresh = reports(node, around_.clock.mono(), around_.stale_after_s);
    const bool shown = record != nullptr && node.sleep == shown_of(*record, 0, may_sleep(*record));
    if (shown && fresh && record->state == core::PowerState::awake && !record->marked && cycles_->reports(name)) return;
    look(state, clocks, name, &node);
  });
  return then(std::move(nodes), [this, &state, clocks] {
    for (const auto& [name, record] : records())
      if (state.node(name) == nullptr) look(state, clocks, name, nullptr);
    shallow_.turn(state);
    if (!memory_.waits.empty() && pods_read())
      memory_.waits.look(
          [&state](const std::string& uid) -> std::optional<bool> {
            const Pod* pod = state.pod(uid);
            return pod == nullptr ? std::nullopt : std::optional(!pod->node.empty());
          },
          around_.clock.mono(), cycles_->totals());
    return no_steps();
  });
}

bool SleepControl::plan_due(const ClusterState& state) {
  if (planning_) return false;
  if (std::exchange(answered_, false) || !planned_ || empty_orders_.wait_for_plan(planned_)) return true;
  Duration every = asker_ ? Duration::max() : plans_ < kFirstPlans ? kPlanSoon : kPlanEvery;
  if (cycles_ && cycles_->any_sleeps()) {
    every = std::min(every, kPlanAsleep);
    if (state.pods().pending() > 0 && state.pods().pending() != planned_pending_) every = std::min(every, kPlanPending);
  }
  return around_.clock.mono() - *planned_ >= every;
}

Steps SleepControl::tick(ClusterState& state, const ClockOffsets* clocks) {
  if (!on() && !cycles_) return no_steps();
  const MonoTime now = around_.clock.mono();
  if (planner_)
    for (const TaskThread::Then& then : planner_->done()) then();
  std::vector<Steps> work;
  if (cycles_) {
    look_now_ = [this, &state, clocks](const std::string& name) { look(state, clocks, name, state.node(name)); };
    cycles_->turn(state.pods().all().size());
    if (!looked_ || now - *looked_ >= kLookEvery) {
      looked_ = now;
      work.push_back(look_at_all(state, clocks));
    }
  }
  if (!on()) return in_order(std::move(work));
  if (around_.store.on()) exclusion_writer_.turn(around_.store, around_.log, around_.clock);
  if (asker_) {
    answered_ = asker_->take() || answered_;
    if (!asker_->busy() && (!asked_ || now - *asked_ >= (plans_ < kFirstPlans ? kPlanSoon : kPlanEvery))) {
      asked_ = now;
      work.push_back(ask(state));
    }
  }
  // The first plan waits for the first answers.
  if ((!asker_ || answered_ || planned_) && plan_due(state)) work.push_back(make(state));
  return in_order(std::move(work));
}

Steps SleepControl::ask(const ClusterState& state) {
  const auto nodes = std::make_shared<std::vector<ToProbe>>();
  Steps labelled = each_of(state.nodes(), [this, nodes](const auto& item) {
    const auto& [name, node] = item;
    const core::NodePowerRecord* record = record_of(name);
    const bool sleeps = record != nullptr && !takes_pods(*record);
    const bool fresh = reports(node, around_.clock.mono(), around_.stale_after_s);
    if (around_.settings.drivers && asked_mode(node) != core::SleepMode::off)
      nodes->push_back({{name, labels_of(node)}, !fresh && !sleeps});
  });
  return then(std::move(labelled), [this, nodes] {
    asker_->begin(std::move(*nodes));
    return no_steps();
  });
}

Steps SleepControl::make(ClusterState& state) {
  planning_ = true;
  planned_ = around_.clock.mono();
  planned_pending_ = state.pods().pending();
  const auto snapshot = std::make_shared<SleepSnapshot>();
  if (cycles_) cycles_->follow_clock();
  if (const auto step = steps_.take(around_.clock)) {
    memory_.outlook.move(*step);
    memory_.refused.move(*step);
  }
  snapshot->now = around_.clock.wall();
  snapshot->config = around_.settings.plan;
  snapshot->acts = acts();
  snapshot->terms = pods_.terms();
  if (cycles_) snapshot->ledger = cycles_->records().ledger();
  Steps nodes = each_of(state.nodes(), [this, snapshot, now = *planned_, &state](const auto& item) {
    const auto& [name, node] = item;
    const bool fresh = reports(node, now, around_.stale_after_s);
    const core::NodePowerRecord* record = record_of(name);
    if (offers_shallow(state, node)) snapshot->offers_shallow.insert(name);
    add_node(*snapshot, state, node, facts_of(name, node),
             record != nullptr ? *record : awake_record(name, snapshot->now), fresh && state.view_of(node).ready);
  });
  return then(std::move(nodes), [this, snapshot, &state] {
    if (cycles_) reserve(*snapshot, cycles_->reserved());
    add_pending(*snapshot, state, around_.api.has_value(), memory_.refused);
    plan(snapshot);
    return no_steps();
  });
}

void SleepControl::plan(const std::shared_ptr<SleepSnapshot>& snapshot) {
  memory_.outlook.observe(requested_cores(*snapshot), snapshot->now);
  snapshot->outlook = memory_.outlook;
  if (around_.store.on()) keep_memory(around_.store, memory_, around_.clock);
  const auto made = std::make_shared<MadePlan>();
  if (asker_) made->probed = asker_->probed();
  planner_->post([this, snapshot, made]() -> TaskThread::Then {
    add_probes(*snapshot, made->probed);
    made->plan = plan_of(*snapshot);
    made->shallow = choose_shallow(*snapshot, made->plan);
    return [this, made] {
      planning_ = false;
      ++plans_;
      made->at = around_.clock.mono();
      plan_ = std::move(*made);
      if (cycles_) act();
    };
  });
}

bool SleepControl::observable(const std::string& node) const {
  if (!plan_) return false;
  const auto found = plan_->probed.find(node);
  return found != plan_->probed.end() && found->second.able && found->second.able->can_observe;
}

void SleepControl::act() {
  for (const core::WakeChoice& choice : plan_->plan.wakes) {
    if (!cycles_->wake(choice.node, choice.reason, true)) continue;
    memory_.waits.wake_for(choice.pods, around_.clock.mono());
    memory_.refused.woke_for(choice.pods);
  }
  if (!acts() || !look_now_) return;
  shallow_.choose(plan_->shallow);
  for (const core::SleepChoice& choice : plan_->plan.sleeps) {
    look_now_(choice.node);
    const bool done = choice.moves.empty() || moves_pods();  // otherwise the plan only reports them
    if (done && !memory_.exclusions.contains(choice.node)) cycles_->choose(choice, observable(choice.node));
  }
}

Result<std::string> SleepControl::order(const std::string& what, const std::map<std::string, std::string>& arguments,
                                        const std::string& who) {
  return sleep_order(*this, around_.store.on(), what, arguments, who);
}

void SleepControl::exclude(const std::string& node, const std::string& why, const std::string& who) {
  if (why.empty()) {
    memory_.exclusions.erase(node);
    asked_.reset();  // the next plan, with the node, is then made soon
  } else {
    memory_.exclusions[node] = why;
    shallow_.end(node);
  }
  if (around_.store.on()) {
    exclusion_writer_.put(node, why);
    exclusion_writer_.turn(around_.store, around_.log, around_.clock);
  }
  around_.audit.audit(who, (why.empty() ? "node may sleep again: " : "node excluded from sleep: ") + node, why);
  if (!cycles_) return;
  if (why.empty())
    cycles_->allow(node);
  else
    cycles_->wake(node, "it is excluded: " + why, false);
}

Result<core::Depth> SleepControl::probed_depth(const std::string& node) const {
  const auto found = plan_->probed.find(node);
  if (found == plan_->probed.end())
    return fail(Errc::unavailable, node, "its power driver has not answered yet", "try again in a moment");
  const ProbedNode& probed = found->second;
  if (!probed.able)
    return fail(Errc::unavailable, node, "its power driver does not answer: " + probed.problem,
                "see wattle sleep plan");
  if (probed.able->depths.empty())
    return fail(Errc::conflict, node, "its power driver offers no depth of sleep", "see wattle sleep plan");
  return probed.able->depths.front();
}

Status SleepControl::test(const std::string& node, const std::string& who) {
  if (!acts())
    return fail(Errc::unsupported, node, "no node sleeps by itself", "set sleep.mode: auto and sleep.drivers");
  if (!plan_ || !look_now_) return fail(Errc::unavailable, node, "there is no sleep plan yet", "try again in a moment");
  core::Exclusion why;
  for (const core::KeptAwake& kept : plan_->plan.kept)
    if (kept.node == node && !allows_test(kept.why.cause)) why = kept.why;
  if (why) return fail(Errc::conflict, node, "cannot sleep: " + why.reason, "see wattle sleep plan");
  shallow_.end(node);
  look_now_(node);
  WATTLE_CHECK(cycles_->test(node, probed_depth(node), observable(node), who));
  around_.audit.audit(who, "test of sleep and wake: " + node, "");
  return {};
}

Result<core::PowerState> SleepControl::sleep_empty(const std::string& node, const std::string& who) {
  if (!acts())
    return fail(Errc::unsupported, node, "no node sleeps by itself", "set sleep.mode: auto and sleep.drivers");
  const core::SleepPlan* plan = plan_ && !planning_ ? &plan_->plan : nullptr;
  auto state = empty_orders_.answer(node, record_of(node), plan, planned_, around_.clock.mono());
  if (state) around_.audit.audit(who, "order to let an empty node sleep: " + node, "");
  return state;
}

std::vector<std::string> SleepControl::wake(const std::string& node, const std::string& who) {
  std::vector<std::string> woken;
  for (const auto& [name, record] : records())
    if ((node.empty() || name == node) && !takes_pods(record)) woken.push_back(name);
  for (const std::string& name : woken) cycles_->wake(name, "woken by " + who, false);
  for (const std::string& name : woken) around_.audit.audit(who, "node woken: " + name, "");
  return woken;
}

}  // namespace wattle::controller::power
