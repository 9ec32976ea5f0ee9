// replica_book: how many replicas workloads would need for the requests that are expected: suggestions for people, which nobody sets here.
// Source   usage and requests of pods (RequestBook), those of which it does not hear, as an API server has them (PodReconciler), rates and
//          late shares by a TrafficSource, and who owns the number of replicas (Autoscalers)
// Gives    a suggestion each minute (placement/replica_rule), of Deployments, ReplicaSets and StatefulSets. None where an autoscaler
//          owns the number, or where it is not known whether one does. Never fewer than there are, unless all pods allow to shrink
// Usage    of pods that were not heard of in the minute, or are on nodes without agents, is taken to be as that of the others; where less
//          than half were heard of, it is not known. Who is on no node yet is a replica that uses nothing
// Bounds   kMostRequestPods that are elsewhere; more are not counted
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
#include "placement/replica_rule.hpp"

namespace wattle::controller {

// Of one workload.
struct ReplicaOwner {
  std::optional<std::string> by;  // empty: nobody; absent: not known
  std::string problem;            // why not
  static ReplicaOwner asked(const Autoscalers* autoscalers, const std::string& workload);
};

// `none`: nobody tells its rate. `owned`, `unknown`: nothing is suggested for that reason.
enum class ReplicaState { none, learning, owned, unknown, keep, more, fewer };
std::string_view to_string(ReplicaState state);

struct ReplicaTotals {
  std::size_t workloads = 0;  // whose rate is known
  std::size_t suggested = 0;  // of those, with another number than they have
  std::size_t withheld = 0;   // of those, owned or unknown
};

class ReplicaBook {
 public:
  using OwnerOf = std::function<ReplicaOwner(const std::string& workload)>;

  ReplicaBook(const Clock& clock, const TrafficSource& traffic, OwnerOf owner_of)
      : clock_(clock), traffic_(traffic), owner_of_(std::move(owner_of)) {}

  // A pod that is on no node yet, or on one without an agent; and one that is so no more.
  void elsewhere(const kube::Pod& pod);
  void left(const std::string& uid);
  // Each minute it looks at all workloads. `breathe` is called now and then meanwhile.
  void tick(const std::map<std::string, RequestWorkload>& workloads, const std::function<void()>& breathe);

  // What its rate and usage say; null: its rate was never told.
  const placement::ReplicaRule* rule_of(const std::string& workload) const;
  ReplicaOwner owner_of(const std::string& workload) const { return owner_of_(workload); }
  // Wherever they are, and whether or not they run yet.
  std::size_t replicas_of(const std::string& key, const RequestWorkload& workload) const;
  bool may_shrink(const std::string& key, const RequestWorkload& workload) const;
  ReplicaState state_of(const std::string& key, const RequestWorkload& workload) const;
  // Absent where it may not be suggested, or is not known.
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

  const Clock& clock_;
  const TrafficSource& traffic_;
  OwnerOf owner_of_;
  std::unordered_map<std::string, Elsewhere> elsewhere_;  // by UID
  std::map<std::string, Counts> counts_;                  // of those, by workload
  std::map<std::string, placement::ReplicaRule> rules_;
  ReplicaTotals totals_;
  std::optional<MonoTime> looked_;
};

// Whether its replicas are a number that somebody chose.
bool has_replicas(const std::string& owner);
// For people, a sentence or two.
std::vector<std::string> replica_words(const ReplicaBook& book, const std::string& key,
                                       const RequestWorkload& workload);

}  // namespace wattle::controller
