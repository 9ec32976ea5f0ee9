#include "controller/decisions/confirmed_workloads.hpp"

#include <algorithm>
#include <utility>

#include "common/kube/pod.hpp"
#include "controller/decisions/owner_keeper.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kMostFormer = 256;  // of a node

bool goes_by(const std::vector<std::string>& names, const std::string& workload) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_unit(name, workload); });
}

// True if the agent reports the UID itself as a kubelet's pod, which ends with its cgroup.
bool is_pod_of(const Node& node, const std::string& uid) {
  const auto found = node.workloads.find(uid);
  return found != node.workloads.end() && found->second.values.kind == WorkloadKind::pod;
}

bool has_name(const placement::PodSpec& pod, const std::string& name) {
  return pod.name == name || pod.pod_namespace + "/" + pod.name == name;
}

}  // namespace

Result<std::string> ConfirmedWorkloads::uid_of(const std::string& pod) const {
  if (state_.pod(pod) != nullptr) return pod;
  const LoggedDecision* entry = decider_.log().newest(pod);
  if (entry == nullptr)
    return fail(Errc::not_found, "pod " + pod, "it was not placed", "run `wattle place` first, or use its UID");
  if (entry->decision.pod_uid.empty())
    return fail(Errc::malformed, "pod " + pod, "has no UID", "place it with a UID, which identifies the placement");
  return entry->decision.pod_uid;
}

// An ask is forgotten after a while, and by a restart; its decision is kept.
void ConfirmedWorkloads::know(const std::string& uid, const LoggedDecision* decision) {
  if (state_.pod(uid) != nullptr || decision == nullptr) return;
  placement::PodSpec spec;
  if (decision->asked)
    spec = *decision->asked;
  else if (decision->recalled)
    spec = *decision->recalled;
  spec.uid = uid;
  spec.name = decision->decision.pod_name;
  spec.pod_namespace = decision->decision.pod_namespace;
  if (!decision->decision.placed_on.empty())  // the decision has its placement
    state_.pods().recall(spec, decision->decision.id);
  else
    state_.pods().ask(spec, decision->decision.id, !decision->decision.advice.empty(), clock_.mono());
}

std::string ConfirmedWorkloads::find_unit(const std::string& name, const std::vector<std::string>& names) const {
  const Node& node = *state_.node(name);
  for (const std::string& each : names) {
    if (!ties_.uid_of(name, each).empty()) return each;
    const auto found = node.workloads.find(each);
    const bool there = found != node.workloads.end() && !found->second.missing;
    if (there && found->second.values.kind != WorkloadKind::pod) return each;
  }
  for (const auto& [each, workload] : node.workloads)
    if (workload.values.kind != WorkloadKind::pod && !workload.missing && goes_by(names, each)) return each;
  return {};
}

Result<Confirmation> ConfirmedWorkloads::confirm(const std::string& pod, const std::string& node,
                                                 const std::string& unit, std::optional<Duration> limit) {
  if (state_.node(node) == nullptr)
    return fail(Errc::not_found, "node " + node, "no agent has registered under that name",
                "list nodes with `wattle nodes`");
  WATTLE_TRY(const std::string uid, uid_of(pod));
  const LoggedDecision* decision = decider_.log().newest(uid);
  const Pod* known = state_.pod(uid);
  if (known != nullptr && known->watched)
    return fail(Errc::conflict, "pod " + pod, "is a pod of Kubernetes: the API server reports where it runs",
                "confirm only workloads that were placed with `wattle place`");
  if (ties_.unit_of(uid) == nullptr && is_pod_of(*state_.node(node), uid)) {
    decider_.placements().placed(uid, node, true);
    return Confirmation{uid, node, uid, false, 0};
  }
  std::vector<std::string> names = unit_names(unit);
  if (names.empty()) names = unit_names(known != nullptr ? known->spec.name : decision->decision.pod_name);
  const std::string found = find_unit(node, names);
  const bool was_there = decision != nullptr && decision->decision.placed_on == node;
  if (known == nullptr && was_there && found.empty()) return Confirmation{uid, node, {}, true, 0};
  know(uid, decision);
  if (const auto before = workloads_.find(uid); before != workloads_.end()) {
    const TiedUnit* tied = ties_.unit_of(uid);
    const bool another_unit = tied != nullptr && (found.empty() ? !unit.empty() : tied->unit != found);
    if (tied != nullptr && (another_unit || before->second.node != node)) untie(uid, before->second);
    waiting_[before->second.node].erase(uid);
  }
  if (const std::string other = ties_.uid_of(node, found); !found.empty() && !other.empty() && other != uid)
    end(other, "its unit is now another workload");
  Workload workload;
  workload.node = node;
  workload.names = std::move(names);
  workload.named = !unit.empty();
  workload.seen_at = clock_.mono();
  workload.limited = limit.has_value();
  if (ties_.unit_of(uid) != nullptr)
    workload.kind = workloads_.at(uid).kind;
  else if (!found.empty())
    tie(uid, workload, found);
  const TiedUnit* tied = ties_.unit_of(uid);
  if (limit)
    workload.limit_s = now_s() + std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(*limit).count());
  else if (tied == nullptr && !workload.named)
    workload.limit_s = now_s() + std::chrono::duration_cast<std::chrono::seconds>(kLongestUntied).count();
  decider_.placements().placed(uid, node, true);
  if (tied == nullptr) waiting_[node].insert(uid);
  const std::string name = tied != nullptr ? tied->unit : std::string();
  state_.pods().call_unit(uid, name);
  const auto entry = workloads_.insert_or_assign(uid, std::move(workload)).first;
  keep(uid, entry->second);
  return Confirmation{uid, node, name, false, entry->second.limit_s};
}

Result<Ending> ConfirmedWorkloads::done(const std::string& pod, bool failed) {
  std::string uid = pod;
  if (state_.pod(uid) == nullptr) {
    std::size_t called = 0;
    for (const auto& [each, workload] : workloads_) {
      const Pod* runs = state_.pod(each);
      if (runs == nullptr || !has_name(runs->spec, pod)) continue;
      uid = each;
      ++called;
    }
    if (called > 1)
      return fail(Errc::conflict, "pod " + pod, std::to_string(called) + " workloads of that name run",
                  "use the UID shown by `wattle pods -o wide`");
    if (called == 0) {
      WATTLE_TRY(uid, uid_of(pod));
    }
  }
  const Pod* known = state_.pod(uid);
  if (known == nullptr) return Ending{uid, decider_.log().newest(uid)->decision.placed_on, true};
  if (known->watched)
    return fail(Errc::conflict, "pod " + pod, "is a pod of Kubernetes: the API server reports when it ends",
                "delete it there");
  const std::string node = known->node;
  if (node.empty()) {
    decider_.placements().elsewhere(uid);
    return Ending{uid, {}, false};
  }
  if (!workloads_.contains(uid))
    return fail(Errc::conflict, "pod " + pod, "was not confirmed: it ends when its cgroup does on " + node,
                "stop it on the node");
  if (failed) decider_.placements().failed(uid, to_string(kube::PodFailure::crash));
  end(uid, failed ? "reported as failed" : "reported as done");
  return Ending{uid, node, false};
}

void ConfirmedWorkloads::tie(const std::string& uid, Workload& workload, const std::string& unit) {
  const auto& there = state_.node(workload.node)->workloads;
  if (const auto found = there.find(unit); found != there.end()) workload.kind = found->second.values.kind;
  ties_.tie(uid, workload.node, unit);
  state_.rename(workload.node, unit, uid, WorkloadKind::pod);
}

void ConfirmedWorkloads::untie(const std::string& uid, const Workload& workload) {
  const auto tied = ties_.untie(uid, state_.newest(workload.node));
  if (tied) state_.rename(tied->node, uid, tied->unit, workload.kind);
  state_.pods().call_unit(uid, {});
}

void ConfirmedWorkloads::end(const std::string& uid, const char* why) {
  const auto found = workloads_.find(uid);
  if (found == workloads_.end()) return;
  const Pod* pod = state_.pod(uid);
  log_.info("workload.ended", "a confirmed workload has ended",
            {{"pod", uid},
             {"name", pod != nullptr ? pod->spec.name : std::string()},
             {"node", found->second.node},
             {"why", why}});
  ending_ = true;
  decider_.placements().gone(uid, std::string(found->second.node));
  ending_ = false;
}

void ConfirmedWorkloads::left(const placement::PodSpec& pod) {
  const auto found = workloads_.find(pod.uid);
  const Pod* was = state_.pod(pod.uid);
  if (found == workloads_.end() || was == nullptr || was->node != found->second.node) return;
  const std::string node = found->second.node;
  if (const TiedUnit* tied = ties_.unit_of(pod.uid)) {
    const std::string unit = tied->unit;
    const std::uint64_t decision_id = was->decision_id;
    untie(pod.uid, found->second);
    auto& former = former_[node];
    if (!ending_) former.push_back({pod, decision_id, found->second, unit, clock_.mono()});
    if (former.size() > kMostFormer) former.erase(former.begin());
    if (former.empty()) former_.erase(node);
  }
  waiting_[node].erase(pod.uid);
  workloads_.erase(found);
}

bool ConfirmedWorkloads::name(const std::string& name, Record& record) {
  const Node* node = state_.node(name);
  // An older record may report units that no longer exist.
  const bool newest = node != nullptr && RecordMark{record.incarnation, record.seq} >= state_.newest(name);
  if (newest) adopt(*node, record);
  return ties_.name(name, record);
}

void ConfirmedWorkloads::adopt(const Node& node, const Record& record) {
  const std::string name = node.hello.node;
  const auto waiting = waiting_.find(name);
  const bool looked_for = waiting != waiting_.end() && !waiting->second.empty();
  if (!looked_for && !former_.contains(name) && (node.in_flight.empty() || node.samples == 0)) return;
  for (const WorkloadValues& values : record.workloads) {
    if (values.kind == WorkloadKind::pod || !ties_.uid_of(name, values.name).empty()) continue;
    const std::string uid = claimed(node, values);
    if (uid.empty()) continue;
    Workload& workload = workloads_.at(uid);
    workload.kind = values.kind;
    if (!workload.limited) workload.limit_s = 0;
    tie(uid, workload, values.name);
    decider_.placements().placed(uid, name, false);
    state_.pods().call_unit(uid, values.name);
    keep(uid, workload);
  }
}

std::string ConfirmedWorkloads::claimed(const Node& node, const WorkloadValues& values) {
  const std::string& unit = values.name;
  const std::string name = node.hello.node;
  if (const auto waiting = waiting_.find(name); waiting != waiting_.end()) {
    for (const std::string& uid : waiting->second) {
      if (!goes_by(workloads_.at(uid).names, unit)) continue;
      const std::string found = uid;
      waiting->second.erase(found);
      return found;
    }
  }
  // A unit that ran there before belongs to no expected workload.
  const auto known = node.workloads.find(unit);
  if (node.samples == 0 || (known != node.workloads.end() && !known->second.missing)) return {};
  for (const std::string& uid : node.in_flight) {
    const Pod& pod = *state_.pod(uid);
    if (pod.watched || !goes_by(unit_names(pod.spec.name), unit)) continue;
    Workload& workload = workloads_[uid];
    workload = {};
    workload.node = name;
    workload.names = unit_names(pod.spec.name);
    workload.seen_at = clock_.mono();
    return uid;
  }
  const auto former = former_.find(name);
  if (former == former_.end() || values.ended) return {};
  const auto same =
      std::find_if(former->second.begin(), former->second.end(), [&](const Former& each) { return each.unit == unit; });
  if (same == former->second.end()) return {};
  const Former back = std::move(*same);
  former->second.erase(same);
  if (clock_.mono() - back.at >= kReturnWindow || state_.pod(back.spec.uid) != nullptr) return {};
  state_.pods().recall(back.spec, back.decision_id);
  Workload& again = workloads_[back.spec.uid] = back.workload;
  again.seen_at = clock_.mono();
  return back.spec.uid;
}

// The row must be complete: the row of its placement may be in an earlier transaction, in which a store that keeps no
// usage drops pods that are not confirmed.
void ConfirmedWorkloads::keep(const std::string& uid, const Workload& workload) const {
  PodFacts facts = facts_of_placed(state_.pod(uid)->spec, workload.node, now_s());
  facts.confirmed = true;
  if (const TiedUnit* tied = ties_.unit_of(uid))
    facts.unit = tied->unit;
  else if (workload.named)
    facts.unit = workload.names.front();
  facts.limit_s = workload.limit_s;
  store_.note(std::move(facts));
}

void ConfirmedWorkloads::recall(const PodFacts& pod) {
  if (pod.confirmed && !pod.node.empty()) recalled_[pod.node].push_back(pod);
}

void ConfirmedWorkloads::greeted(const std::string& node) {
  const auto found = recalled_.find(node);
  if (found == recalled_.end()) return;
  const std::vector<PodFacts> pods = std::move(found->second);
  recalled_.erase(found);
  for (const PodFacts& pod : pods) {
    if (!decider_.placements().resumed(pod.uid, node)) continue;
    if (!pod.unit.empty() &&
        !ties_.uid_of(node, pod.unit).empty()) {  // a later workload has the unit; the end of this one was not stored
      decider_.placements().gone(pod.uid, node);
      continue;
    }
    Workload& workload = workloads_[pod.uid];
    workload.node = node;
    workload.names = unit_names(pod.unit.empty() ? pod.name : pod.unit);
    workload.named = !pod.unit.empty();
    workload.seen_at = clock_.mono();
    workload.limit_s = pod.limit_s;
    workload.limited = pod.limit_s > 0;
    // Records from the time when the controller was away belong to this workload, too.
    if (pod.unit.ends_with(".service") || pod.unit.ends_with(".scope")) {
      ties_.tie(pod.uid, node, pod.unit);
      state_.pods().call_unit(pod.uid, pod.unit);
    } else {
      waiting_[node].insert(pod.uid);
    }
  }
}

void ConfirmedWorkloads::tick() {
  const std::int64_t now = now_s();
  std::vector<std::pair<std::string, const char*>> over;
  std::vector<std::string> not_ours;  // pods of a kubelet, or on no node
  for (auto& [uid, workload] : workloads_) {
    const Node* node = state_.node(workload.node);
    const Pod* pod = state_.pod(uid);
    const bool tied = ties_.unit_of(uid) != nullptr;
    if (node == nullptr || pod == nullptr || pod->node != workload.node || (!tied && is_pod_of(*node, uid))) {
      not_ours.push_back(uid);
      continue;
    }
    const auto& sampled_at = node->sampled_at;
    if (sampled_at && node->workloads.contains(uid)) workload.seen_at = std::max(workload.seen_at, *sampled_at);
    const bool has_unit = workload.named || tied;
    if (workload.limit_s > 0 && now >= workload.limit_s)
      over.emplace_back(uid, "its time limit has passed");
    else if (has_unit && sampled_at && *sampled_at - workload.seen_at >= kAppears)
      over.emplace_back(uid, "its unit is not on the node");
  }
  for (const auto& [uid, why] : over) end(uid, why);
  for (const std::string& uid : not_ours) {
    const auto found = workloads_.find(uid);
    untie(uid, found->second);
    waiting_[found->second.node].erase(uid);
    workloads_.erase(found);
  }
  for (auto& [node, all] : former_)
    std::erase_if(all, [&](const Former& each) { return clock_.mono() - each.at >= kReturnWindow; });
  std::erase_if(former_, [](const auto& each) { return each.second.empty(); });
  std::erase_if(waiting_, [](const auto& each) { return each.second.empty(); });
}

}  // namespace wattle::controller
