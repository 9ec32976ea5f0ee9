// watched: handles what an API server reports to the decider, and makes observed decisions.
#include <algorithm>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {
namespace {

constexpr double kMaxRequestCores = 1e6;
constexpr double kMaxRequestBytes = 1e18;
// Candidates of an observed decision: as many as are learned from, since no asker waits for the others.
constexpr std::size_t kObservedCandidates = 64;

// The node, and others that would have taken a pod, spread over all of them.
std::vector<std::string> observed_candidates(const ClusterState& state, const std::string& node) {
  std::vector<std::string> names{node};
  const std::size_t step = 1 + state.nodes().size() / kObservedCandidates;
  std::size_t at = 0;
  for (const auto& [name, other] : state.nodes())
    if (at++ % step == 0 && name != node && state.node_view(name)->ready) names.push_back(name);
  return names;
}

}  // namespace

// Sums of such requests stay finite, as the wire demands.
placement::Resources sane_request(double cpu_cores, double memory_bytes) {
  return {std::clamp(cpu_cores, 0.0, kMaxRequestCores), std::clamp(memory_bytes, 0.0, kMaxRequestBytes)};
}

bool Decider::bound(const std::string& pod_uid, const std::string& node, bool followed) {
  return place(pod_uid, node, followed ? PlacementSource::by_binding : PlacementSource::by_list);
}

void Decider::described(const placement::PodSpec& pod, bool unschedulable, const std::string& nominated) {
  const Pod* before = state_.pod(pod.uid);
  // An agent may have seen its cgroup before anything else was known of it.
  const bool unnamed = before != nullptr && !before->node.empty() && before->spec.app.empty() && !pod.app.empty();
  if (state_.describe(pod, unschedulable))
    engine_.shadow().withdraw(pod.uid);
  else
    engine_.shadow().keep(pod.uid);
  state_.nominate(pod.uid, nominated, clock_.mono());
  if (unnamed) engine_.cluster_model().placed(before->spec, before->node, clock_.mono());
}

void Decider::failed(const std::string& pod_uid, std::string_view how) {
  if (const Pod* pod = state_.pod(pod_uid); pod != nullptr && !pod->node.empty())
    windows_.pod_failed(pod_uid, pod->node, how);
}

void Decider::deleted(const std::string& pod_uid) {
  elsewhere(pod_uid);
  repeats_.forget(pod_uid);
  state_.bury(pod_uid, clock_.mono());
}

void Decider::elsewhere(const std::string& pod_uid) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod == nullptr) return;
  if (!pod->node.empty()) {
    const std::string node = pod->node;
    windows_.pod_gone(pod_uid, node);
    left(pod_uid, clock_.mono());
    state_.unbind(pod_uid, node);
    return;
  }
  open_.take(pod->decision_id);
  engine_.shadow().withdraw(pod_uid);
  state_.forget(pod_uid);
}

std::uint64_t Decider::observe(placement::PodSpec pod, const std::string& node, MonoTime now) {
  // A DaemonSet's pod has no choice of a node.
  if (spec_.mode.mode == Mode::off || pod.daemonset) return 0;
  pod = engine_.expected(std::move(pod));
  const Heard heard = this->heard();
  const models::QNetwork* network = heard.network.get();
  const std::uint64_t id = next_id_++;
  const placement::ClusterView& view = state_.view(pod, now);
  placement::PlacementDecision advice = engine_.decide({.view = view,
                                                        .pod = pod,
                                                        .candidates = observed_candidates(state_, node),
                                                        .network = network,
                                                        .turn = figures_.decisions,
                                                        .random = random_});
  const bool fits_somewhere = advice.top.has_value();  // of the cluster as it is
  std::optional<OpenDecision> open = go_by_copy(advice, view, pod, network, 0, {}, {});
  wire::Decision decision = advice.record;
  decision.id = id;
  decision.wall_ns = to_ns(clock_.wall());
  decision.mode = "observed";
  const bool learned = engine_.usable(network) != nullptr && engine_.policy().learns;
  decision.model_step = learned ? network->step() : 0;
  decision.propensity = 0;  // no advice was given
  decision.decided_by = "scheduler";
  decision.reason = "placed by its scheduler without a request; Wattle would have chosen: " + decision.reason;
  decision.decide_us = seconds(clock_.mono() - now) * 1e6;
  ++figures_.observed;
  state_.decided(pod.uid, id);
  if (fits_somewhere && pod.node_name.empty()) monitors_.offer(pod, advice.candidates);
  LoggedDecision entry = log_entry(advice, std::move(decision));
  entry.demand_cores = placement::demand_cores(pod);
  entry.asked = pod;
  if (learned) entry.model = heard.version;
  engine_.reserve(pod, advice, now);
  if (!open) open = OpenDecision{std::move(advice.observation), std::move(advice.node), {}, {}, {}};
  open->at = now;
  open_.add(id, std::move(*open));
  log_.add(std::move(entry));
  changed_.insert(id);
  return id;
}

}  // namespace wattle::controller
