// cluster_state: the latest state of all nodes, workloads and pods, the basis of decisions and documents.
// Source   Hello, records and placements from agents; pods as asks describe them; nodes and pods of an API server, if
//          any, whose statements take precedence over the agents'
// Gives    the ClusterView that placement/ decides on, updated in place
// Units    in names; times are the controller's monotonic clock
// Errors   none: unknown values are unset. A silent node becomes stale; no value is guessed
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/node.hpp"
#include "common/outbox.hpp"
#include "common/start_window.hpp"
#include "common/wire/messages.hpp"
#include "controller/state/clock_map.hpp"
#include "controller/state/newcomers.hpp"
#include "controller/state/pod_sums.hpp"
#include "controller/state/view_rows.hpp"
#include "controller/state/waiting_pods.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

// Limits per node, independent of its agent's reports. Kubernetes runs 110 pods on a node by default and was tested
// with 500.
inline constexpr std::size_t kMaxWorkloads = 4096;
inline constexpr std::size_t kMaxPods = 2048;
// Limit of asked-for pods that no API server has and no node runs, and of pods expected on a node.
inline constexpr std::size_t kMaxAsked = 50'000;
// A scheduler may hold a pod for this long at most between its choice of a node and the binding.
inline constexpr Duration kLongestHold = std::chrono::hours(1);
// Workload that holds the sums of workloads beyond the limit.
inline constexpr std::string_view kOthers = "(others)";

// Energy of a container since its pod was first seen; kept after the container's end as long as the pod is here.
struct ContainerSum {
  std::string id;
  std::uint64_t energy_uj = 0;
  std::uint64_t listed = 0;  // Node::samples when it was added to last
};

// A workload root, summed over its cgroups.
struct Workload {
  WorkloadValues values;  // of the last interval
  std::optional<double> cpu_cores, power_w;
  double nested_cores = 0;         // of workloads within it, which cpu_cores does not contain
  std::optional<double> energy_j;  // since it was first seen
  // Use of everything that the workload's requests and limits cover.
  double whole_cores() const { return cpu_cores.value_or(0) + nested_cores; }
  // Containers of a pod, at most kMaxContainers; those that ended longest ago are dropped first. Their energy is part
  // of energy_j.
  std::vector<ContainerSum> containers;
  MonoTime first_seen{};
  std::uint64_t last_seq = 0;  // of the last interval in which it was there
  std::uint64_t listed = 0;    // Node::samples when a record last listed it
  bool missing = false;        // a record that listed all did not list it
};

// Power of a node that Wattle puts to sleep.
struct NodeSleep {
  bool asleep = false;  // its silence is intended
  bool closed = false;  // takes no pods, from the choice to sleep until it is back
  double wake_cost_j = 0;
  bool operator==(const NodeSleep&) const = default;
};

struct Node {
  std::size_t row = 0;  // in the view
  wire::Hello hello;
  bool connected = false;
  std::shared_ptr<const kube::Node> kube;  // null: no API server reports it
  bool deleted = false;                    // its API server has deleted it
  NodeSleep sleep;
  std::optional<MonoTime> sampled_at;    // end of the last interval
  std::uint64_t incarnation = 0;         // of the session
  std::uint64_t record_incarnation = 0;  // of the last record, which a spool may have delayed
  std::uint64_t samples = 0;             // intervals
  std::uint64_t interval_seq = 0;        // of the first part of the last interval
  std::uint64_t parts_seen = 0;          // parts received of that interval
  std::deque<RecordMark> ahead;          // shown ahead of their turn, still to come; ascending
  std::int64_t interval_ns = 0;
  NodeValues values;
  std::vector<ProbeValues> probes;
  std::optional<double> power_w, idle_w, unattributed_w;
  std::optional<double> energy_j;  // since the controller first saw the node
  ClockMap clock;
  std::map<std::string, Workload> workloads;  // by pod UID, unit or VM name
  std::set<std::string> pods;                 // bound here
  std::set<std::string> in_flight;            // advised to this node, not seen yet
  std::set<std::string> unsettled;            // bound here, their use not yet in the telemetry
  PodSums sums;                               // sums of these three sets
  Newcomers newcomers{kMaxWorkloads};         // recent new names in its records
  Newcomers new_containers{kMaxWorkloads};    // recent new containers; its workloads list them
};

struct Pod {
  std::uint64_t number = 0;  // in the order in which an API server showed those that it has
  placement::PodSpec spec;   // from the last ask or the API server; only the UID when there was neither
  bool asked = false;
  MonoTime asked_at{};
  bool advised = false;  // the last ask gave some node the top score
  std::uint64_t decision_id = 0;
  std::string in_flight_to;    // empty: not in flight
  MonoTime in_flight_until{};  // unless it is watched: then until it is bound, deleted or asked for again
  bool nominated = false;      // in flight because the API server names that node as the one the pod is expected on
  std::string node;            // where it is; empty: not seen yet
  MonoTime seen_at{};
  bool by_operator = false;    // confirmed by hand, and no agent has seen it since
  bool unschedulable = false;  // its scheduler found no node for it
  bool watched = false;        // an API server has it and decides where it is and when it ends
  std::string container_ids;   // as it names them (common/kube/pod.hpp)
  std::string unit;            // unit of a confirmed workload on its node; empty: unknown
};

// Turn of a record: in order, ahead of older ones that still wait at the agent, or after a newer one was shown.
enum class Turn : std::uint8_t { its_own, ahead, late };

// Changes to pods that a record reports.
struct RecordNews {
  MonoTime at{};                      // end of its interval
  std::vector<std::string> appeared;  // pods that were not known to be here
  std::vector<std::string> gone;
  Turn turn = Turn::its_own;
  bool again = false;  // a late record that was shown ahead of its turn, or one of another incarnation
};

class ClusterState {
 public:
  explicit ClusterState(Duration in_flight_expiry, Duration start_window = StartCap{}.window)
      : in_flight_expiry_(in_flight_expiry), start_window_(start_window) {}

  void greet(const wire::Hello& hello);
  void disconnect(const std::string& node);
  void sleeps(const std::string& node, const NodeSleep& now);
  // For a node whose own curve has no readings yet.
  void adopt_curve(const std::string& node, const placement::PowerCurve& curve);
  // The node must have been greeted. Binds no pods; the caller binds each pod that appeared and unbinds each that went.
  // A record ahead of its turn is shown at once and added to sums when it comes again; older records that follow are
  // added but not shown.
  RecordNews apply(const std::string& node, const Record& record, MonoTime received, bool ahead = false);
  // Call before apply(). Merges workloads beyond kMaxWorkloads, and those with too many new names, into kOthers;
  // returns how many.
  std::size_t fold(const std::string& node, Record& record, MonoTime now);

  // Stores the spec of an asking pod and the answer it got. The spec of a pod that an API server has stays unchanged.
  void ask(const placement::PodSpec& spec, std::uint64_t decision_id, bool advised, MonoTime now);
  // Expects the pod on the node and counts it as a start there; replaces an earlier expectation. A pod that no API
  // server has is expected for `hold`, and at least for in_flight_expiry.
  void fly(const std::string& uid, const std::string& node, MonoTime now, Duration hold = Duration::zero());
  // Cancels the expectation and its start, as if they had never been.
  void land(const std::string& uid);
  // Counts a start of the pod on the node for the window of the start cap, even if the pod ends early.
  void started(const std::string& uid, const std::string& node, MonoTime now);
  // Returns true if the binding is new, false also for a node that was not greeted.
  bool bind(const std::string& uid, const std::string& node, bool by_operator, MonoTime now);
  bool unbind(const std::string& uid, const std::string& node);

  // Adopts the API server's facts about a node with an agent (null: deleted); they determine its allocatable resources
  // and whether it takes pods.
  void adopt(const std::string& node, std::shared_ptr<const kube::Node> facts);
  // Adopts the API server's pod. Returns true if its scheduler has just failed to place it while it was expected on a
  // node; the expectation then ends.
  bool describe(const placement::PodSpec& spec, bool unschedulable = false);
  // The node that the API server names as the one the pod is expected on (status.nominatedNodeName); empty: none.
  void nominate(const std::string& uid, const std::string& node, MonoTime now);
  // Stores the API server's names of the containers of a known pod.
  void name_containers(const std::string& uid, std::string_view container_ids);
  // Sets the observed decision that the pod's placement joins.
  void decided(const std::string& uid, std::uint64_t decision_id);
  // An unbound pod ended, or runs on a node without an agent.
  void forget(const std::string& uid);
  // The API server has deleted the pod: its cgroup may still be seen for a while and does not count as a placement.
  void bury(const std::string& uid, MonoTime now) { buried_[uid] = now; }
  bool buried(const std::string& uid) const { return buried_.contains(uid); }

  // Restores a pod from the store that ran before the restart and is on no node yet; a known pod stays unchanged.
  void recall(const placement::PodSpec& spec, std::uint64_t decision_id);
  // Renames a workload of the node and sets its kind.
  void rename(const std::string& node, const std::string& from, const std::string& to, WorkloadKind kind);
  void call_unit(const std::string& uid, const std::string& unit);
  // The newest record shown for the node, in order or ahead of older ones.
  RecordMark newest(const std::string& node) const;

  // Expires pods in flight; forgets asks without result, and deleted nodes that are silent.
  void expire(MonoTime now);

  // Updates ages and values that depend on the pod for `now`; valid until the next call of any function.
  const placement::ClusterView& view(const placement::PodSpec& pod, MonoTime now);
  // The same with ages of these rows only; the others keep those of an earlier call.
  const placement::ClusterView& view(const placement::PodSpec& pod, std::span<const std::size_t> rows, MonoTime now);
  // The view without updates of ages or of values that depend on a pod.
  const placement::ClusterView& raw_view() const { return rows_.view(); }
  const placement::NodeView* node_view(const std::string& name) const;
  const placement::NodeView& view_of(const Node& node) const { return rows_[node.row]; }
  const std::map<std::string, Node>& nodes() const { return nodes_; }
  const Node* node(const std::string& name) const;
  const std::unordered_map<std::string, Pod>& pods() const { return pods_; }
  const Pod* pod(const std::string& uid) const;
  // Number of pods without a node: asked for recently without advice, or reported as unschedulable.
  std::size_t pending() const { return waiting_.pending(); }
  // Pods that an API server has and that wait for a node, in the order in which they were first seen.
  std::vector<placement::PodSpec> queue(std::size_t most, const std::string& but) const;
  // Number of pods and workloads visited so far. Tests check that it grows with the reports only, not with reports
  // times cluster size.
  std::uint64_t steps() const { return steps_; }

 private:
  Node* find(const std::string& name);
  placement::NodeView& change(const Node& node) { return rows_.change(node.row); }
  void count_what_waits(const placement::PodSpec& asked, MonoTime now);
  static void fold_containers(Node& node, Record& record, MonoTime now);
  static Turn turn_of(Node& node, const Record& record, bool ahead, bool& again);
  void add_up(Node& node, const Record& record);
  void apply_node(Node& node, const Record& record);
  // `sums`: also adds its energy up.
  void apply_workloads(Node& node, const Record& record, MonoTime received, bool sums);
  // Marks workloads that no part of the interval listed.
  void finish_interval(Node& node, const Record& record);
  void settle(Node& node, const std::string& uid);
  void find_news(const std::string& name, const Node& node, const Record& record, MonoTime now, RecordNews& news);
  void see(const std::string& name, const std::string& uid, MonoTime now, RecordNews& news);
  // Updates the counts of pods. Around each change of a pod: unlist(), change, list().
  void list(const Pod& pod);
  void unlist(const Pod& pod);
  void report_sums(const Node& node);
  void retire_nodes(MonoTime now);
  void judge(Node& node);

  void end_flight(Pod& pod);
  void count_starts(const std::string& node);
  void expire_starts(MonoTime now);

  Duration in_flight_expiry_, start_window_;
  StartWindow starts_;
  std::map<std::string, Node> nodes_;
  std::unordered_map<std::string, Pod> pods_;
  WaitingPods waiting_;
  ViewRows rows_;
  std::unordered_map<std::string, MonoTime> buried_;  // UID -> since
  std::uint64_t steps_ = 0, described_ = 0;
  MonoTime now_{};  // of the last expire()
};

}  // namespace wattle::controller
