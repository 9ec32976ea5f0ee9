// advised_cluster: the cluster as it would be had every pod gone where it was advised, beside the cluster as it is. In mode shadow nothing
// follows advice, so that advice adds up here alone: the next is made of this copy, on which what was advised before is reserved.
// Copy     the cluster as it is and, per node, a difference: pods that were advised there and run elsewhere, less pods that run there and were
//          advised elsewhere. So load that nobody placed, new curves and what is learned of pods are in both, and where advice
//          and what happened are the same the copy is the cluster, to the last bit
// Reserved from the advice on as a pod in flight is in mode live: of requests, of places and as a start; until the pod runs, and then where it
//          was advised until it ends. One that is not kept and not seen to run within `unseen` is expected no more, and where it goes
//          later it goes in both
// Beside   compare() says what both draw and how much their pods wait, of pods that run: the same ones in both. On the curves, the
//          demand and the waiting that planner and features go by; of an empty node that sleeps what it draws asleep, and of one that
//          takes a pod its waking
// Nodes    rows are those of a view; of a row that has another node now, pods that were advised there are taken to be where they run
// Bounds   max_pods; of pods beyond them advice is not kept
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/start_window.hpp"
#include "placement/fleet.hpp"

namespace wattle::placement {

struct AdvisedOptions {
  Duration unseen = std::chrono::seconds(30);
  Duration start_window = StartCap{}.window;
  std::size_t max_pods = 200'000;
};

// At one moment.
struct ClusterLoad {
  double power_w = 0;
  double waited_pods = 0;  // pods times the share of their time that they wait for CPU
  double wake_j = 0;       // of nodes that woke since it was asked for the last time
  std::uint64_t pods = 0;
};
struct ComparedLoad {
  ClusterLoad now, advised;          // the cluster as it is; had advice been followed
  std::uint64_t advised_pods = 0;    // of those that run: on which there was advice
  std::uint64_t displaced_pods = 0;  // of which went elsewhere
};

class AdvisedCluster {
 public:
  // Of a view.
  struct Place {
    std::size_t row = 0;
    std::string node;
  };
  struct Copy {
    ClusterView view;
    Fleet fleet;
  };

  explicit AdvisedCluster(AdvisedOptions options = {}) : options_(options) {}

  // The pod is expected there, whatever was advised before; for `hold`, and for `unseen` at least. `owner`: whose replica
  // it is, if any.
  void advise(const std::string& uid, Place place, const PodEstimate& ask, MonoTime now,
              Duration hold = Duration::zero(), const std::string& owner = {});
  // It is expected until it runs or is withdrawn.
  void keep(const std::string& uid);
  // One that does not run yet is expected no more.
  void withdraw(const std::string& uid);
  // It runs there; without advice, or with one that is too old, it does in both.
  void placed(const std::string& uid, Place place, MonoTime now);
  // What is known of it by now.
  void learned(const std::string& uid, const PodEstimate& ask);
  void ended(const std::string& uid);
  // It runs elsewhere than it was advised: then what is learned of it counts.
  bool displaced(const std::string& uid) const;
  // About once a second: what is expected no more, and rows that have another node.
  void expire(const ClusterView& view, MonoTime now);

  // Of a view that is the same one from call to call where it tells its changes; all nodes open. Valid until the next call of anything.
  // Replicas of the owner, which the view counts where they run, are counted where they were advised.
  Copy& copy(const ClusterView& view, const Fleet& fleet, const std::string& owner = {});
  // The cluster as it is, as if the pod, which runs in that row, did not: a copy of its own, as above.
  static Copy without(const ClusterView& view, const Fleet& fleet, std::size_t row, const PodEstimate& ask);
  // The fleet is that of the cluster as it is.
  ComparedLoad compare(const Fleet& fleet);

  // None runs elsewhere than it was advised, and none is expected: the copy is the cluster.
  bool same() const { return displaced_ == 0 && expected_.empty(); }

 private:
  // Sums over pods.
  struct Sum {
    Resources request;
    std::int64_t pods = 0;
    double cores = 0, cores2 = 0, unsure_cores = 0, life_s = 0;
    void add(const PodEstimate& ask, int sign);
  };
  struct Difference {
    std::string node;
    std::size_t made_of = 0;  // pods
    Sum running, expected;
  };
  struct Pod {
    Place advised;
    std::optional<Place> runs;
    PodEstimate ask;
    MonoTime until{};  // while it does not run
    std::string owner;
  };
  static bool displaced(const Pod& pod) { return pod.runs && pod.runs->row != pod.advised.row; }
  void count_replica(const std::string& owner, std::size_t row, int sign);
  void count(const Place& place, const PodEstimate& ask, Sum Difference::*sum, int sign, bool listed);
  // Its part in the differences, put there or taken away.
  void list(const std::string& uid, const Pod& pod, bool listed);
  static FleetNode changed(const Fleet& fleet, std::size_t row, const Difference& difference, bool expected);
  void show(std::size_t row, const Difference& difference);
  // Who runs there by the difference, in the view's node.
  static void show_running(NodeView& seen, const Sum& running, bool sleeps);

  AdvisedOptions options_;
  std::unordered_map<std::string, Pod> pods_;
  std::set<std::pair<MonoTime, std::string>> expected_;      // that do not run yet, by the end of that
  std::unordered_map<std::size_t, Difference> differences_;  // by row
  // By owner and row: replicas that were advised there and run elsewhere or do not run yet, less those the other way round.
  std::unordered_map<std::string, std::map<std::size_t, std::int64_t>> replica_moves_;
  StartWindow starts_;
  std::size_t displaced_ = 0;
  Copy copy_;
  std::uint64_t copied_ = 0;         // edition of the view
  std::vector<std::size_t> shown_;   // rows of the copy that are not the view's
  std::vector<std::uint8_t> empty_;  // by row, when it was compared last: now, had advice been followed
};

}  // namespace wattle::placement
