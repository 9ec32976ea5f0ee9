// advised_cluster: a copy of the cluster in which every pod runs where it was advised. In shadow mode the scheduler
// does not follow the advice, so only this copy accumulates it: the engine makes the next decision on the copy, with
// earlier advice reserved. While Wattle acts, a second copy accumulates the choices of the default scheduler.
// Copy     the cluster plus a difference per node: pods that were advised there and run elsewhere, minus pods that run
//          there and were advised elsewhere. Unplaced load, new curves and learned demand are in both. The copy equals
//          the cluster bit by bit where advice and placement agree
// Reserved a pod counts from its advice on, like a pod in flight in live mode (request, places, start), and from its
//          start until its end on the advised node. A pod that is not kept and does not start within `unseen` is
//          dropped; if it starts later, it runs on the same node in both
// Compare  compare() returns the power that both draw and how much their running pods wait. Both have the same pods. It
//          uses the curves, demand and waiting models of the planner and the features, counts a node that sleeps at its
//          sleep power, and charges the energy of each wake, including wakes ahead of demand
// Sleep    a node that is empty in both sleeps in the copy if it does in the cluster. One that is empty only in the
//          copy, and may sleep (NodeView::wake_cost_j), stays asleep there, or falls asleep once staying awake has
//          cost as much as a wake (ski rental), because the copy has no forecast. The copy keeps as many empty nodes
//          awake as the cluster does. With `all_awake` no node of the copy sleeps
// Nodes    rows are those of a view. If a row gets another node, the pods that were advised to the old node count where
//          they run
// Bounds   max_pods; advice for further pods is not kept
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
#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

struct AdvisedOptions {
  Duration unseen = std::chrono::seconds(30);
  Duration start_window = StartCap{}.window;
  std::size_t max_pods = 200'000;
  bool all_awake = false;  // the copy is a cluster whose nodes never sleep
};

// Load at one moment.
struct ClusterLoad {
  double power_w = 0;
  double waited_pods = 0;  // number of pods times the share of their time that they wait for CPU
  double wake_j = 0;       // energy of nodes that woke since the previous call
  std::uint64_t pods = 0;
};
struct ComparedLoad {
  ClusterLoad now, advised;          // the real cluster; the cluster if the advice had been followed
  std::uint64_t advised_pods = 0;    // running pods that have advice
  std::uint64_t displaced_pods = 0;  // advised pods that run on another node
  double error_w = 0;                // standard deviation of the difference in power, from the errors of learned curves
  double asleep_w = 0;               // saved by the nodes that sleep in the cluster and are awake in the copy
  double may_sleep_ratio = 0;        // share of the nodes that sleep or may sleep
};

class AdvisedCluster {
 public:
  // A row of a view and the name of its node.
  struct Place {
    std::size_t row = 0;
    std::string node;
  };
  struct Copy {
    ClusterView view;
    Fleet fleet;
  };

  explicit AdvisedCluster(AdvisedOptions options = {}) : options_(options) {}

  // Expects the pod on `place`, replacing earlier advice, for at least `hold` and `unseen`. `owner`: the owner whose
  // replica the pod is, or empty.
  void advise(const std::string& uid, Place place, const PodEstimate& ask, MonoTime now,
              Duration hold = Duration::zero(), const std::string& owner = {});
  // Expects the pod until it runs or is withdrawn.
  void keep(const std::string& uid);
  // Drops a pod that does not run yet.
  void withdraw(const std::string& uid);
  // Records where the pod runs. A pod without advice, or with expired advice, runs there in both clusters.
  void placed(const std::string& uid, Place place, MonoTime now);
  // Updates the estimate of the pod.
  void learned(const std::string& uid, const PodEstimate& ask);
  void ended(const std::string& uid);
  // Pods that the copy's row has in addition to the cluster's, running or expected.
  struct Added {
    Resources request;
    std::int64_t pods = 0;
  };
  // Returns these sums for each row of a view.
  std::vector<Added> added(std::size_t rows) const;
  // Returns whether the pod runs on another node than advised. The estimate of such a pod matters for the difference.
  bool displaced(const std::string& uid) const;
  // Drops expired pods and rows that have another node now. Call about once a second.
  void expire(const ClusterView& view, MonoTime now);

  // Returns the copy of the view, with all nodes open. A view that reports its changes must be the same object in every
  // call. The result is valid until the next call of any member. Replicas of `owner` count on the nodes where they were
  // advised, not where they run.
  Copy& copy(const ClusterView& view, const Fleet& fleet, const std::string& owner = {});
  // Returns the real cluster without a pod that runs in that row, as an independent copy.
  static Copy without(const ClusterView& view, const Fleet& fleet, std::size_t row, const PodEstimate& ask);
  // `view` and `fleet` are those of the real cluster.
  ComparedLoad compare(const ClusterView& view, const Fleet& fleet);

  // Returns whether the copy equals the cluster: no pod is displaced and none is expected.
  bool same() const { return displaced_ == 0 && expected_.empty(); }

 private:
  // Sums over pods.
  struct Sum {
    Resources request;
    std::int64_t pods = 0;
    double cores = 0, cores2 = 0, uncertain_cores = 0, life_s = 0;
    void add(const PodEstimate& ask, int sign);
  };
  struct Difference {
    std::string node;
    std::size_t pod_count = 0;  // number of pods in the sums
    Sum running, expected;
  };
  struct Pod {
    Place advised;
    std::optional<Place> runs;
    PodEstimate ask;
    MonoTime until{};  // end of the expectation, while the pod does not run
    std::string owner;
  };
  static bool displaced(const Pod& pod) { return pod.runs && pod.runs->row != pod.advised.row; }
  void count_replica(const std::string& owner, std::size_t row, int sign);
  void count(const Place& place, const PodEstimate& ask, Sum Difference::*sum, int sign, bool listed);
  // Adds the pod's part to the differences, or removes it.
  void list(const std::string& uid, const Pod& pod, bool listed);
  static FleetNode changed(const Fleet& fleet, std::size_t row, const Difference& difference, bool expected);
  void show(std::size_t row, const Difference& difference);
  // Applies the running pods of the difference to the view's node.
  static void show_running(NodeView& seen, const Sum& running, bool sleeps);
  // A row at the last comparison.
  struct Seen {
    std::string node;
    bool now_asleep = false, advised_asleep = false;
    std::optional<MonoTime> empty_since;  // only in the copy
  };
  // Returns whether a node that is empty only in the copy may sleep there, and does or has been empty for long enough.
  static bool rested(const FleetNode& node, const NodeView& view, Seen& seen, MonoTime now);

  AdvisedOptions options_;
  std::unordered_map<std::string, Pod> pods_;
  // pods that do not run yet, by the end of their expectation
  std::set<std::pair<MonoTime, std::string>> expected_;
  std::unordered_map<std::size_t, Difference> differences_;  // by row
  // Per owner and row: replicas advised to the row that run elsewhere or not yet, minus replicas that run there
  // and were advised elsewhere.
  std::unordered_map<std::string, std::map<std::size_t, std::int64_t>> replica_moves_;
  StartWindow starts_;
  std::size_t displaced_ = 0;
  Copy copy_;
  std::uint64_t copied_ = 0;        // edition of the view
  std::vector<std::size_t> shown_;  // rows of the copy that differ from the view
  std::vector<Seen> seen_;          // by row
};

}  // namespace wattle::placement
