#include "controller/provision/replica_book.hpp"

#include <array>

#include "common/formatted.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kReplicaMinute = std::chrono::minutes(1);

std::optional<double> used_by_all(const RequestWorkload& workload, std::size_t running) {
  if (workload.reporting == 0 || 2 * workload.reporting < running) return std::nullopt;
  return workload.used.cpu_cores * static_cast<double>(running) / static_cast<double>(workload.reporting);
}

}  // namespace

bool has_replicas(const std::string& owner) {
  return owner.starts_with("Deployment/") || owner.starts_with("ReplicaSet/") || owner.starts_with("StatefulSet/");
}

std::string_view to_string(ReplicaState state) {
  constexpr std::array kWords{"none", "learning", "owned", "unknown", "keep", "more", "fewer"};
  return kWords[static_cast<std::size_t>(state)];
}

ReplicaOwner ReplicaOwner::asked(const Autoscalers* autoscalers, const std::string& workload) {
  if (autoscalers == nullptr) return {std::nullopt, "no API server is followed (kubernetes.watch)"};
  auto by = autoscalers->owner_of(workload);
  std::string problem = by ? std::string() : autoscalers->problem();
  return {std::move(by), std::move(problem)};
}

void ReplicaBook::elsewhere(const kube::Pod& pod) {
  left(pod.uid);
  if (!on_ || pod.uid.empty() || pod.leaving || elsewhere_.size() >= kMostRequestPods) return;
  const Elsewhere& seen = elsewhere_[pod.uid] = {workload_of(pod), !pod.node_name.empty(), pod.shrink_allowed};
  Counts& counts = counts_[seen.workload];
  ++(seen.runs ? counts.running : counts.waiting);
  counts.may_shrink += seen.may_shrink;
}

void ReplicaBook::left(const std::string& uid) {
  const auto found = elsewhere_.find(uid);
  if (found == elsewhere_.end()) return;
  const Elsewhere& seen = found->second;
  const auto at = counts_.find(seen.workload);
  Counts& counts = at->second;
  --(seen.runs ? counts.running : counts.waiting);
  counts.may_shrink -= seen.may_shrink;
  if (counts.running + counts.waiting == 0) counts_.erase(at);
  elsewhere_.erase(found);
}

ReplicaBook::Counts ReplicaBook::elsewhere_of(const std::string& key) const {
  const auto found = counts_.find(key);
  return found == counts_.end() ? Counts{} : found->second;
}

std::size_t ReplicaBook::replicas_of(const std::string& key, const RequestWorkload& workload) const {
  const Counts counts = elsewhere_of(key);
  return workload.pods + counts.running + counts.waiting;
}

bool ReplicaBook::may_shrink(const std::string& key, const RequestWorkload& workload) const {
  const Counts counts = elsewhere_of(key);
  return workload.shrink_allowed && counts.may_shrink == counts.running + counts.waiting;
}

Steps ReplicaBook::tick(const std::map<std::string, RequestWorkload>& workloads) {
  if (!on_) return no_steps();
  const MonoTime now = clock_.mono();
  if (looked_ && now - *looked_ < kReplicaMinute) return no_steps();
  looked_ = now;
  const double now_s = static_cast<double>(to_ns(clock_.wall())) / 1e9;
  std::erase_if(rules_, [&](const auto& item) { return !workloads.contains(item.first); });
  totals_ = {};
  return each_of(workloads, [this, now_s](const auto& item) { look(item.first, item.second, now_s); });
}

void ReplicaBook::look(const std::string& key, const RequestWorkload& workload, double now_s) {
  if (!has_replicas(workload.owner)) return;
  const Traffic reported = workload.pods > 0 ? traffic_.traffic("", key) : Traffic{};
  const std::size_t running = workload.pods + elsewhere_of(key).running;
  if (reported.rate_rps)
    rules_[key].add({*reported.rate_rps, used_by_all(workload, running), workload.request.cpu_cores, running,
                     may_shrink(key, workload) ? 1 : replicas_of(key, workload), reported.late_ratio},
                    now_s);
  else if (const auto found = rules_.find(key); found != rules_.end())
    found->second.silent();
  const ReplicaState state = state_of(key, workload);
  totals_.workloads += state != ReplicaState::none ? 1 : 0;
  totals_.suggested += state == ReplicaState::more || state == ReplicaState::fewer ? 1 : 0;
  totals_.withheld += state == ReplicaState::owned || state == ReplicaState::unknown ? 1 : 0;
}

const placement::ReplicaRule* ReplicaBook::rule_of(const std::string& workload) const {
  const auto found = rules_.find(workload);
  return found == rules_.end() ? nullptr : &found->second;
}

ReplicaState ReplicaBook::state_of(const std::string& key, const RequestWorkload& workload) const {
  const auto* rule = rule_of(key);
  if (rule == nullptr || !rule->rate_rps()) return ReplicaState::none;
  const ReplicaOwner owner = owner_of_(key);
  if (!owner.by) return ReplicaState::unknown;
  if (!owner.by->empty()) return ReplicaState::owned;
  const auto next = rule->next();
  if (!next) return ReplicaState::learning;
  const std::size_t now = replicas_of(key, workload);
  if (next->replicas == now) return ReplicaState::keep;
  return next->replicas > now ? ReplicaState::more : ReplicaState::fewer;
}

std::optional<placement::SuggestedReplicas> ReplicaBook::suggested(const std::string& workload) const {
  const auto* rule = rule_of(workload);
  if (rule == nullptr || !rule->next()) return std::nullopt;
  const ReplicaOwner owner = owner_of_(workload);
  if (!owner.by || !owner.by->empty()) return std::nullopt;
  return rule->next();
}

std::vector<std::string> replica_words(const ReplicaBook& book, const std::string& key,
                                       const RequestWorkload& workload) {
  if (!has_replicas(workload.owner)) return {};
  const auto* rule = book.rule_of(key);
  if (rule == nullptr || !rule->rate_rps())
    return {"Replicas: no suggestion, because its request rate is unknown (provisioning.prometheus.rate_query)."};
  const ReplicaOwner owner = book.owner_of(key);
  if (!owner.by) return {"Replicas: no suggestion, because the autoscalers are unknown: " + owner.problem + "."};
  if (!owner.by->empty()) return {"Replicas: no suggestion, because " + *owner.by + " sets their number."};
  const auto next = rule->next();
  if (!next)
    return {workload.request.cpu_cores > 0
                ? "Replicas: no suggestion yet (needs ten minutes with requests and CPU use)."
                : "Replicas: no suggestion, because its pods request no CPU."};
  const std::string rate = "Replicas: " + fixed(*rule->rate_rps(), 1) + " requests/s now, " +
                           fixed(next->expected.rate_rps, 1) + " expected in the next minute, up to " +
                           fixed(next->expected.high_rps, 1) + " in nine of ten minutes.";
  const std::string each = "A request takes " + fixed(1000 * next->core_s_per_request, 2) +
                           " ms of CPU time, so a replica can serve " + fixed(next->replica_rps, 1) + "/s with " +
                           fixed(100 * next->aim_ratio, 0) + "% of its CPU request.";
  std::string last = "Suggested: " + std::to_string(next->replicas) +
                     " replicas; current: " + std::to_string(book.replicas_of(key, workload)) +
                     ". Wattle never changes the number of replicas.";
  if (!book.may_shrink(key, workload))
    last += " Wattle suggests fewer replicas only if the pods have wattle.dev/shrink: allowed.";
  return {rate, each, last};
}

}  // namespace wattle::controller
