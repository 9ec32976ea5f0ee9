#include "controller/power/sleep_pods.hpp"

#include <array>
#include <utility>

namespace wattle::controller::power {
namespace {

// Labels that identify a scheduler's pod: those of kubeadm's static pod and of the chart.
constexpr std::array<std::string_view, 2> kSchedulers{"component=kube-scheduler",
                                                      "app.kubernetes.io/name=wattle-scheduler"};

bool carries(const std::string& labels, std::string_view label) {
  return ("," + labels + ",").find("," + std::string(label) + ",") != std::string::npos;
}

std::vector<kube::LabelSelector> selectors_of(const kube::Pod& pod) {
  std::vector<kube::LabelSelector> out;
  for (const std::string& term : pod.node_terms) {
    auto one = kube::LabelSelector::parse(term, pod.name);
    if (!one) return {};  // its scheduler judges it
    out.push_back(std::move(*one));
  }
  return out;
}

std::string full_name(const std::string& name_space, const std::string& name) { return name_space + "/" + name; }

}  // namespace

void SleepPods::put(const kube::Pod& pod) {
  erase(pod.uid);
  if (auto selectors = selectors_of(pod); !selectors.empty() && !pod.ended)
    terms_.insert_or_assign(pod.uid, std::move(selectors));
  if (pod.node_name.empty() || pod.ended) return;
  Seen seen{pod.node_name, pod.pod_namespace, pod.name, pod.labels, pod.hold, pod.daemonset, pod.evicted};
  for (const std::string_view label : kSchedulers) seen.scheduler = seen.scheduler || carries(pod.labels, label);
  seen.controller = pod.name == own_host_;
  if (seen.scheduler) ++schedulers_[seen.node];
  const auto [entry, fresh] = pods_.emplace(pod.uid, std::move(seen));
  of_node_[entry->second.node][pod.uid] = &entry->second;
}

void SleepPods::erase(const std::string& uid) {
  terms_.erase(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Seen& seen = found->second;
  if (seen.scheduler && --schedulers_.at(seen.node) == 0) schedulers_.erase(seen.node);
  const auto node = of_node_.find(seen.node);
  node->second.erase(uid);
  if (node->second.empty()) of_node_.erase(node);
  pods_.erase(found);
}

void SleepPods::judge(const std::string& node, const std::vector<DisruptionBudget>& unsatisfied,
                      placement::sleep::SleepFacts& facts) const {
  facts.runs_controller = facts.runs_controller || node == own_host_;
  facts.runs_scheduler = schedulers_.size() == 1 && schedulers_.begin()->first == node;
  const auto there = of_node_.find(node);
  if (there == of_node_.end()) return;
  for (const auto& [uid, pod] : there->second) {
    facts.runs_controller = facts.runs_controller || pod->controller;
    if (pod->daemonset) continue;
    std::string* holder = pod->hold == kube::PodHold::bare            ? &facts.bare_pod
                          : pod->hold == kube::PodHold::local_volume  ? &facts.local_volume_pod
                          : pod->hold == kube::PodHold::undisruptable ? &facts.undisruptable_pod
                          : pod->hold == kube::PodHold::constrained   ? &facts.constrained_pod
                                                                      : nullptr;
    if (holder != nullptr && holder->empty()) *holder = full_name(pod->name_space, pod->name);
    if (!facts.unsatisfied_budget.empty()) continue;
    for (const DisruptionBudget& budget : unsatisfied)
      if (budget.covers(pod->name_space, pod->labels))
        facts.unsatisfied_budget = full_name(budget.name_space, budget.name);
  }
}

}  // namespace wattle::controller::power
