#include "controller/decisions/placements.hpp"

#include <algorithm>
#include <utility>

#include "placement/worth/outcome.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kExpireStateEvery = std::chrono::milliseconds(500);  // it looks at every node and pod
// Candidates of an observed decision: as many as learning uses, because no asker waits for the others.
constexpr std::size_t kObservedCandidates = 64;

// The node, and others that could have taken a pod, evenly chosen from all.
std::vector<std::string> observed_candidates(const ClusterState& state, const std::string& node) {
  std::vector<std::string> names{node};
  const std::size_t step = 1 + state.nodes().size() / kObservedCandidates;
  std::size_t at = 0;
  for (const auto& [name, other] : state.nodes())
    if (at++ % step == 0 && name != node && state.node_view(name)->ready) names.push_back(name);
  return names;
}

}  // namespace

bool Placements::placed(const std::string& pod_uid, const std::string& node, bool by_operator) {
  return place(pod_uid, node, by_operator ? PlacementSource::by_operator : PlacementSource::by_agent);
}

bool Placements::resumed(const std::string& pod_uid, const std::string& node) {
  return place(pod_uid, node, PlacementSource::by_store);
}

bool Placements::place(const std::string& pod_uid, const std::string& node, PlacementSource reported) {
  const MonoTime now = clock_.mono();
  const Node* known = state_.node(node);
  if (known == nullptr || pod_uid.empty() || state_.pods().buried(pod_uid)) return false;
  const std::size_t row = known->row;
  const bool recalled = recall_pod(pod_uid, node);
  const Pod* before = state_.pod(pod_uid);
  const bool by_operator = reported == PlacementSource::by_operator || reported == PlacementSource::by_store;
  if (before != nullptr && before->node == node) {
    state_.pods().bind(pod_uid, node, by_operator, now);
    return false;
  }
  if (reported == PlacementSource::by_agent && known->pods.size() >= kMaxPods) return false;
  const bool settled = before != nullptr && before->watched && !before->node.empty();
  if (settled && (reported == PlacementSource::by_agent || reported == PlacementSource::by_operator)) return false;
  // Pods of a list, or of a node's first record, may have run for long.
  const bool expected = before != nullptr && !before->in_flight_to.empty();
  const bool ran_before = recalled || reported == PlacementSource::by_list || reported == PlacementSource::by_store;
  const bool starts = expected || (!ran_before && (reported != PlacementSource::by_agent || known->samples > 1));
  // The state "before" the placement: the pod is neither expected nor running there.
  state_.pods().drop_expected(pod_uid);
  const bool waited = before != nullptr && before->node.empty();
  const placement::PodSpec spec = before != nullptr ? before->spec : placement::PodSpec{};
  std::uint64_t id = waited && before->asked ? before->decision_id : 0;
  const bool unasked = id == 0;
  if (unasked && waited && before->watched && reported != PlacementSource::by_list) id = observe(spec, node, now);
  const bool asked = id != 0;
  if (before != nullptr && !before->node.empty()) {  // it runs elsewhere now
    outcomes_.pod_gone(pod_uid, before->node);
    left(pod_uid, now);
  }
  std::optional<placement::RawOutcome> begun;
  if (asked) begun = placement::begin_outcome(state_.raw_view(), spec, row, core_.engine().options().reward);
  state_.pods().bind(pod_uid, node, by_operator, now);
  if (starts) state_.pods().started(pod_uid, node, now);
  if (starts) sink_.on_placed(state_.pod(pod_uid)->spec, node);
  core_.engine().on_pod_started(spec, node, row, now);
  if (state_.pod(pod_uid)->leaving) core_.engine().on_pod_leaving(pod_uid, now);
  ++core_.figures().placements;
  core_.figures().placements_unasked += unasked && !recalled ? 1 : 0;
  if (asked) join(id, spec, node, row, std::move(*begun), now);
  return true;
}

void Placements::join(std::uint64_t id, const placement::PodSpec& spec, const std::string& node, std::size_t row,
                      placement::RawOutcome begun, MonoTime now) {
  LoggedDecision* entry = core_.log().find(id);
  if (entry != nullptr) {
    entry->decision.placed_on = node;
    core_.log().changed(id);
  }
  std::optional<ArmNow> arm;
  if (auto open = core_.open().take(id)) {
    arm = open->arm;
    const auto& rows = open->node;
    const auto at = static_cast<std::size_t>(std::find(rows.begin(), rows.end(), row) - rows.begin());
    if (at < rows.size() && open->observation.valid[at] != 0) {
      if (entry != nullptr && !open->predicted.empty()) entry->expected = open->predicted[at];
      core_.learn(PlacedNews{id, std::move(open->observation), static_cast<std::uint32_t>(at), now});
    }
  }
  asks_.forget(spec.uid);
  outcomes_.open(id, spec, node, row, std::move(begun), arm);
}

void Placements::gone(const std::string& pod_uid, const std::string& node) {
  if (const Pod* pod = state_.pod(pod_uid); pod != nullptr && pod->watched && pod->node == node) {
    // The pod's containers may return; the pod keeps its node until the API server reports that and how it ended.
    outcomes_.pod_gone(pod_uid, node, false);
    return;
  }
  if (const Pod* pod = state_.pod(pod_uid); pod == nullptr || pod->node != node) return;
  left(pod_uid, clock_.mono());
  outcomes_.pod_gone(pod_uid, node);
  state_.pods().unbind(pod_uid, node);
}

void Placements::greeted(const wire::Hello& hello) {
  if (const placement::PowerCurve* curve = core_.engine().cluster_model().kept_curve(hello.node))
    state_.adopt_curve(hello.node, *curve);
}

void Placements::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod != nullptr) sink_.on_left(pod->spec);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  core_.engine().on_pod_ended(pod_uid, pod != nullptr ? &pod->spec : nullptr,
                              node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

bool Placements::recall_pod(const std::string& pod_uid, const std::string& node) {
  if (state_.pod(pod_uid) != nullptr) return false;
  const auto found = recalled_pods_.take(pod_uid, node);
  if (!found) return false;
  state_.pods().recall(core_.engine().expected(found->spec), found->decision_id);
  state_.pods().name_containers(pod_uid, found->container_ids);
  return true;
}

bool Placements::bound(const std::string& pod_uid, const std::string& node, bool followed) {
  return place(pod_uid, node, followed ? PlacementSource::by_binding : PlacementSource::by_list);
}

void Placements::described(const placement::PodSpec& pod, bool unschedulable, const std::string& nominated) {
  const Pod* before = state_.pod(pod.uid);
  // An agent may have seen the pod's cgroup before anything else was known about it.
  const bool unnamed = before != nullptr && !before->node.empty() && before->spec.app.empty() && !pod.app.empty();
  if (state_.pods().describe(pod, unschedulable))
    core_.engine().shadow().withdraw(pod.uid);
  else
    core_.engine().shadow().keep(pod.uid);
  state_.pods().nominate(pod.uid, nominated, clock_.mono());
  if (before != nullptr && !before->node.empty()) core_.engine().cluster_model().resized(pod.uid, pod.request);
  if (unnamed) core_.engine().cluster_model().placed(before->spec, before->node, clock_.mono());
}

void Placements::leaving(const std::string& pod_uid) {
  state_.pods().leave(pod_uid);
  core_.engine().on_pod_leaving(pod_uid, clock_.mono());
}

void Placements::failed(const std::string& pod_uid, std::string_view how) {
  if (const Pod* pod = state_.pod(pod_uid); pod != nullptr && !pod->node.empty())
    outcomes_.pod_failed(pod_uid, pod->node, how);
}

void Placements::deleted(const std::string& pod_uid) {
  elsewhere(pod_uid);
  asks_.forget(pod_uid);
  state_.pods().mark_deleted(pod_uid, clock_.mono());
}

void Placements::elsewhere(const std::string& pod_uid) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod == nullptr) return;
  if (!pod->node.empty()) {
    const std::string node = pod->node;
    outcomes_.pod_gone(pod_uid, node);
    left(pod_uid, clock_.mono());
    state_.pods().unbind(pod_uid, node);
    return;
  }
  core_.open().take(pod->decision_id);
  core_.engine().shadow().withdraw(pod_uid);
  state_.pods().forget(pod_uid);
}

std::uint64_t Placements::observe(placement::PodSpec pod, const std::string& node, MonoTime now) {
  // A DaemonSet's pod has no choice of a node.
  if (core_.spec().mode.mode == Mode::off || pod.daemonset) return 0;
  pod = core_.engine().expected(std::move(pod));
  const NetworkChoice::InUse in_use = core_.networks().in_use();
  const models::QNetwork* network = in_use.network.get();
  const std::uint64_t id = core_.log().next_id();
  const placement::ClusterView& view = state_.view(pod, now);
  placement::PlacementDecision advice = core_.engine().decide({.view = view,
                                                               .pod = pod,
                                                               .candidates = observed_candidates(state_, node),
                                                               .network = network,
                                                               .turn = core_.figures().decisions,
                                                               .random = core_.random()});
  std::optional<OpenDecision> open = core_.decide_on_shadow(advice, view, pod, network, 0, {}, {});
  wire::Decision decision = advice.record;
  decision.id = id;
  decision.wall_ns = to_ns(clock_.wall());
  decision.mode = "observed";
  const bool learned = core_.engine().usable(network) != nullptr && core_.engine().policy().learns;
  decision.model_step = learned ? network->step() : 0;
  decision.propensity = 0;  // no advice was given
  decision.decided_by = "scheduler";
  decision.reason = "placed by its scheduler without a request; Wattle would have chosen: " + decision.reason;
  decision.decide_us = seconds(clock_.mono() - now) * 1e6;
  state_.pods().decided(pod.uid, id);
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(pod);
  entry.asked = pod;
  if (learned) entry.model = in_use.version;
  core_.engine().reserve(pod, advice, now);
  if (!open) open = OpenDecision{std::move(advice.observation), std::move(advice.node), {}, {}, {}};
  open->at = now;
  core_.open().add(id, std::move(*open));
  core_.log().add(std::move(entry));
  core_.log().changed(id);
  return id;
}

void Placements::expire(MonoTime now) {
  if (now - state_expired_ < kExpireStateEvery) return;
  state_expired_ = now;
  state_.expire(now);
}

}  // namespace wattle::controller
