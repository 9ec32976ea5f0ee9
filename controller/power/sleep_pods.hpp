// sleep_pods: what the sleep plan needs to know about the API server's pods: which hold their node, which a
// PodDisruptionBudget covers, and on which nodes schedulers and this controller run.
// Source   pods as PodReconciler reports them
// Bounds   one entry per pod of the API server
// Errors   none
// Threads  single owner
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/kube/label_selector.hpp"
#include "common/kube/pod.hpp"
#include "controller/power/disruption_budgets.hpp"
#include "placement/sleep/sleep_rules.hpp"

namespace wattle::controller::power {

// Selectors by UID, one of which a node must match; a pod that may run everywhere has none.
using NodeTerms = std::map<std::string, std::vector<kube::LabelSelector>, std::less<>>;

class SleepPods {
 public:
  // `own_host`: the host name of this process, which is the name of its pod or of its node.
  explicit SleepPods(std::string own_host) : own_host_(std::move(own_host)) {}
  void put(const kube::Pod& pod);
  void erase(const std::string& uid);
  // Returns true if the pod is known and has a node.
  bool bound(const std::string& uid) const { return pods_.contains(uid); }
  // Returns whether the Eviction API had evicted the pod when it was put last; no value: it is not bound.
  std::optional<bool> evicted(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? std::nullopt : std::optional(found->second.evicted);
  }
  // Has running and waiting pods.
  const NodeTerms& terms() const { return terms_; }
  // Sets the facts that the pods of the node determine.
  void judge(const std::string& node, const std::vector<DisruptionBudget>& unsatisfied,
             placement::sleep::SleepFacts& facts) const;

 private:
  struct Seen {
    std::string node, name_space, name, labels;
    kube::PodHold hold = kube::PodHold::none;
    bool daemonset = false, evicted = false, scheduler = false, controller = false;
  };
  std::string own_host_;
  std::unordered_map<std::string, Seen> pods_;
  std::unordered_map<std::string, std::map<std::string, const Seen*>> of_node_;  // uid -> pod, for a stable order
  NodeTerms terms_;
  std::map<std::string, std::size_t> schedulers_;  // node -> pods of schedulers
};

}  // namespace wattle::controller::power
