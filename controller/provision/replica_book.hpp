// replica_book: how many replicas workloads would need for the requests that are expected: suggestions for people, which nobody sets here.
// Source   usage and requests of pods (RequestBook), rates and late shares by a TrafficSource, and who owns the number of replicas (Autoscalers)
// Gives    a suggestion each minute (placement/replica_rule), of Deployments, ReplicaSets and StatefulSets. None where an autoscaler
//          owns the number, or where it is not known whether one does. Never fewer than there are, unless all pods allow to shrink
// Usage    of pods that were not heard of in the minute is taken to be as that of the others; where less than half were, it is not known
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
#include <vector>

#include "common/clock.hpp"
#include "controller/kube/autoscalers.hpp"
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

  // Each minute it looks at all workloads. `breathe` is called now and then meanwhile.
  void tick(const std::map<std::string, RequestWorkload>& workloads, const std::function<void()>& breathe);

  // What its rate and usage say; null: its rate was never told.
  const placement::ReplicaRule* rule_of(const std::string& workload) const;
  ReplicaOwner owner_of(const std::string& workload) const { return owner_of_(workload); }
  ReplicaState state_of(const std::string& key, const RequestWorkload& workload) const;
  // Absent where it may not be suggested, or is not known.
  std::optional<placement::SuggestedReplicas> suggested(const std::string& workload) const;
  const ReplicaTotals& totals() const { return totals_; }

 private:
  const Clock& clock_;
  const TrafficSource& traffic_;
  OwnerOf owner_of_;
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
