// replica_book: suggests the number of replicas that workloads need for the expected requests. Suggestions are for
// people; the controller does not apply them.
// Source   usage and requests of pods (RequestBook); pods without an agent, from the API server (PodReconciler); rates
//          and late shares of a TrafficSource; the owner of the number of replicas (Autoscalers)
// Gives    a suggestion each minute (provision/requests/replica_rule) for Deployments, ReplicaSets and StatefulSets. No
//          suggestion if an autoscaler owns the number, or if the owner is unknown. Never fewer replicas than now,
//          unless all pods permit shrinking
// Usage    pods without a report in the minute, or on nodes without agents, are assumed to use as much as the others.
//          With reports for less than half of the pods the usage is unknown. A pod without a node is a replica without
//          usage
// Bounds   kMostRequestPods pods without an agent; further ones are not counted
// Units    requests/s, cores
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "controller/kube/replica_owners.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/provision/traffic.hpp"
#include "provision/requests/replica_rule.hpp"

namespace wattle::controller {

// Owner of one workload's number of replicas.
struct ReplicaOwner {
  std::optional<std::string> by;  // empty: no owner; no value: unknown
  std::string problem;            // why the owner is unknown
  static ReplicaOwner asked(const Autoscalers* autoscalers, const std::string& workload);
};

// `none`: the rate is unknown. `owned`, `unknown`: no suggestion for that reason.
enum class ReplicaState { none, learning, owned, unknown, keep, more, fewer };
std::string_view to_string(ReplicaState state);

struct ReplicaTotals {
  std::size_t workloads = 0;  // workloads with a known rate
  std::size_t suggested = 0;  // of those, suggestions that differ from the current number
  std::size_t withheld = 0;   // of those, owned or unknown
};

class ReplicaBook {
 public:
  using OwnerOf = std::function<ReplicaOwner(const std::string& workload)>;

  // `on` false: replicas are not suggested; follows no pod.
  ReplicaBook(const Clock& clock, const TrafficSource& traffic, OwnerOf owner_of, bool on = true)
      : clock_(clock), traffic_(traffic), owner_of_(std::move(owner_of)), on_(on) {}
  bool on() const { return on_; }

  // Call elsewhere() for a pod that has no node yet, or a node without an agent; left() when it has ended, or got a
  // node with an agent.
  void elsewhere(const kube::Pod& pod);
  void left(const std::string& uid);
  // Updates all workloads once a minute.
  Steps tick(const std::map<std::string, RequestWorkload>& workloads);

  // Returns the rule with the workload's rate and usage; null if no rate was ever reported.
  const placement::ReplicaRule* rule_of(const std::string& workload) const;
  ReplicaOwner owner_of(const std::string& workload) const { return owner_of_(workload); }
  // Counts replicas on any node and without one, running or not.
  std::size_t replicas_of(const std::string& key, const RequestWorkload& workload) const;
  bool may_shrink(const std::string& key, const RequestWorkload& workload) const;
  ReplicaState state_of(const std::string& key, const RequestWorkload& workload) const;
  // No value if a suggestion is not permitted or the number is unknown.
  std::optional<placement::SuggestedReplicas> suggested(const std::string& workload) const;
  const ReplicaTotals& totals() const { return totals_; }

 private:
  struct Elsewhere {
    std::string workload;
    bool runs = false, may_shrink = false;
  };
  struct Counts {
    std::size_t running = 0, waiting = 0, may_shrink = 0;
  };
  Counts elsewhere_of(const std::string& key) const;
  void look(const std::string& key, const RequestWorkload& workload, double now_s);

  const Clock& clock_;
  const TrafficSource& traffic_;
  OwnerOf owner_of_;
  const bool on_;
  std::unordered_map<std::string, Elsewhere> elsewhere_;  // by UID
  std::map<std::string, Counts> counts_;                  // counts of those pods, by workload
  std::map<std::string, placement::ReplicaRule> rules_;
  ReplicaTotals totals_;
  std::optional<MonoTime> looked_;
};

// Returns true if the owner has a chosen number of replicas.
bool has_replicas(const std::string& owner);
// Returns one or two sentences for people.
std::vector<std::string> replica_words(const ReplicaBook& book, const std::string& key,
                                       const RequestWorkload& workload);

}  // namespace wattle::controller
