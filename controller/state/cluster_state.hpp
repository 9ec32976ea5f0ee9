// cluster_state: the latest state of all nodes, workloads and pods, the basis of decisions and documents.
// Source   Hello, records and placements from agents; pods as asks describe them; nodes and pods of an API server, if
//          any, whose statements take precedence over the agents'
// Gives    the ClusterView that placement/ decides on, updated in place
// Units    in names; times are the controller's monotonic clock
// Errors   none: unknown values are unset. A silent node becomes stale; no value is guessed
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "common/clock.hpp"
#include "common/kube/node.hpp"
#include "common/outbox.hpp"
#include "common/start_window.hpp"
#include "common/wire/messages.hpp"
#include "controller/state/node_table.hpp"
#include "controller/state/pod_table.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

class ClusterState {
 public:
  explicit ClusterState(Duration in_flight_expiry, Duration start_window = StartCap{}.window)
      : pods_(nodes_, in_flight_expiry, start_window) {}
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  void greet(const wire::Hello& hello);
  void disconnect(const std::string& node);
  void sleeps(const std::string& node, const NodeSleep& now);
  // Sets the curve of a node that has no readings yet.
  void adopt_curve(const std::string& node, const placement::PowerCurve& curve);
  // The node must have been greeted. Binds no pods; the caller binds each pod that appeared and unbinds each that went.
  RecordNews apply(const std::string& node, const Record& record, MonoTime received, bool ahead = false);
  // Call before apply(); see node_table.hpp.
  std::size_t fold(const std::string& node, Record& record, MonoTime now);

  // Adopts the API server's facts about a node with an agent (null: deleted); they determine its allocatable resources
  // and whether it takes pods.
  void adopt(const std::string& node, std::shared_ptr<const kube::Node> facts);
  // Renames a workload of the node and sets its kind.
  void rename(const std::string& node, const std::string& from, const std::string& to, WorkloadKind kind);
  // The newest record shown for the node, in order or ahead of older ones.
  RecordMark newest(const std::string& node) const;

  // Expires pods in flight; forgets asks without result, and deleted nodes that are silent.
  void expire(MonoTime now);

  // Updates ages and values that depend on the pod for `now`; valid until the next call of any function.
  const placement::ClusterView& view(const placement::PodSpec& pod, MonoTime now);
  // The same with ages of these rows only; the others keep those of an earlier call.
  const placement::ClusterView& view(const placement::PodSpec& pod, std::span<const std::size_t> rows, MonoTime now);
  // The view without updating ages or values that depend on a pod.
  const placement::ClusterView& raw_view() const { return nodes_.rows.view(); }
  const placement::NodeView* node_view(const std::string& name) const;
  const placement::NodeView& view_of(const Node& node) const { return nodes_.rows[node.row]; }
  const std::map<std::string, Node>& nodes() const { return nodes_.nodes; }
  const Node* node(const std::string& name) const;
  PodTable& pods() { return pods_; }
  const PodTable& pods() const { return pods_; }
  const Pod* pod(const std::string& uid) const { return pods_.find(uid); }
  // Number of pods and workloads visited so far. Tests check that it grows with the reports only, not with reports
  // times cluster size.
  std::uint64_t steps() const { return steps_ + pods_.steps(); }

 private:
  void judge(Node& node);

  NodeTable nodes_;
  PodTable pods_;
  std::uint64_t steps_ = 0;
  MonoTime now_{};  // of the last expire()
};

}  // namespace wattle::controller
