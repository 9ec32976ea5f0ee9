// pod_table: all pods: those that wait for a node, are expected on one or run there, and those that ended.
// Source   asks; placements that agents and operators report; the pods of an API server, if any, whose statements take
//          precedence
// Gives    counts and sums of pods in the rows of their nodes
// Units    in names; times are the controller's monotonic clock
// Errors   none: an unknown pod or node changes nothing
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/start_window.hpp"
#include "controller/state/node_table.hpp"
#include "controller/state/waiting_pods.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

// Limit of asked-for pods that no API server has and no node runs, and of pods expected on a node.
inline constexpr std::size_t kMaxAsked = 50'000;
// A scheduler may hold a pod for this long at most between its choice of a node and the binding.
inline constexpr Duration kLongestHold = std::chrono::hours(1);
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
  bool leaving = false;        // an API server deletes it: its owner has already replaced it, or does so now
  std::string container_ids;   // as it names them (common/kube/pod.hpp)
  std::string unit;            // unit of a confirmed workload on its node; empty: unknown
};

class PodTable {
 public:
  PodTable(NodeTable& nodes, Duration in_flight_expiry, Duration start_window)
      : nodes_(nodes), in_flight_expiry_(in_flight_expiry), start_window_(start_window) {}

  // Stores the spec of a pod that was asked for, and the answer. Keeps the spec of a pod that an API server has.
  void ask(const placement::PodSpec& spec, std::uint64_t decision_id, bool advised, MonoTime now);
  // Expects the pod on the node and counts it as a start there; replaces an earlier expectation. A pod that no API
  // server has is expected for `hold`, and at least for in_flight_expiry.
  void expect_on(const std::string& uid, const std::string& node, MonoTime now, Duration hold = Duration::zero());
  // Cancels the expectation and its start, as if they had never existed.
  void drop_expected(const std::string& uid);
  // Counts a start of the pod on the node for the window of the start cap, even if the pod ends early.
  void started(const std::string& uid, const std::string& node, MonoTime now);
  // Returns true if the binding is new, false also for a node that was not greeted.
  bool bind(const std::string& uid, const std::string& node, bool by_operator, MonoTime now);
  bool unbind(const std::string& uid, const std::string& node);

  // Adopts the API server's pod. Returns true if its scheduler has just failed to place it while it was expected on a
  // node; the expectation then ends.
  bool describe(const placement::PodSpec& spec, bool unschedulable = false);
  // The node that the API server names as the one the pod is expected on (status.nominatedNodeName); empty: none.
  void nominate(const std::string& uid, const std::string& node, MonoTime now);
  // Stores the API server's names of the containers of a known pod.
  void name_containers(const std::string& uid, std::string_view container_ids);
  // Sets the observed decision that the pod's placement joins.
  void decided(const std::string& uid, std::uint64_t decision_id);
  // Records that the API server deletes the pod. It runs for its grace period but no longer counts as a replica of its
  // owner, as in kube-scheduler's topology spread: its successor may take the same node.
  void leave(const std::string& uid);
  // Removes an unbound pod that ended, or that runs on a node without an agent.
  void forget(const std::string& uid);
  // Records that the API server deleted the pod: its cgroup may still be seen for a while, but does not count as a
  // placement.
  void mark_deleted(const std::string& uid, MonoTime now) { deleted_at_[uid] = now; }
  bool buried(const std::string& uid) const { return deleted_at_.contains(uid); }

  // Restores a pod from the store that ran before the restart and is on no node yet; a known pod stays unchanged.
  void recall(const placement::PodSpec& spec, std::uint64_t decision_id);
  void call_unit(const std::string& uid, const std::string& unit);

  // Finds the pods that the record shows as appeared or gone; the caller binds and unbinds them.
  void find_news(const std::string& name, const Node& node, const Record& record, MonoTime now, RecordNews& news);
  // Records that the telemetry now contains the usage of pods that were bound before the record.
  void settle(Node& node, const Record& record);
  // Update the count of starts, or all counts, in the node's row.
  void count_starts(const std::string& node);
  void report_sums(const Node& node);
  // Updates what depends on the pod, and on those that wait beside it, in all rows.
  void report_for(const placement::PodSpec& asked, MonoTime now);
  // Expires pods in flight; forgets asks without result.
  void expire(MonoTime now);

  const std::unordered_map<std::string, Pod>& all() const { return pods_; }
  const Pod* find(const std::string& uid) const;
  // Number of pods without a node: asked for recently without advice, or reported as unschedulable.
  std::size_t pending() const { return waiting_.pending(); }
  // Pods of an API server that wait for a node, in the order in which they were first seen.
  std::vector<placement::PodSpec> queue(std::size_t most, const std::string& but) const;
  std::uint64_t steps() const { return steps_; }  // pods visited so far

 private:
  void see(const std::string& name, const std::string& uid, MonoTime now, RecordNews& news);
  // Updates the counts of pods. Around each change of a pod: unlist(), change, list().
  void list(const Pod& pod);
  void unlist(const Pod& pod);
  void count_use(Node& node, const Pod& pod, double sign);
  static bool is_replica(const Pod& pod) { return !pod.spec.daemonset && !pod.leaving; }
  void end_flight(Pod& pod);
  void expire_starts(MonoTime now);

  NodeTable& nodes_;
  Duration in_flight_expiry_, start_window_;
  StartWindow starts_;
  std::unordered_map<std::string, Pod> pods_;
  WaitingPods waiting_;
  std::unordered_map<std::string, MonoTime> deleted_at_;  // UID -> since
  std::uint64_t steps_ = 0, described_ = 0;
  MonoTime now_{};  // of the last expire()
};

}  // namespace wattle::controller
