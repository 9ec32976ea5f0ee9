// cluster_model: learns the behaviour of one cluster from observations, and builds the Fleet and the PodEstimate that
// policies and the network's plan use.
// Source   placed pods, their usage and their ends; the ClusterView (curves, requests, telemetry)
// Parts    each models one thing, and readers use it directly: demand and lifetimes per application (demand), cores
//          that will be requested (forecast), requests of arriving pods (mean_request), running pods (running_pods),
//          other usage (node_usage), time lost to waiting and lateness with budgets (pod_time),
//          applications that make each other wait, rows (fleet_rows)
// Requests the forecast treats a resize as a correction of the original request. Demand stays a share of the request
//          that a pod started with, because the next pods of its template start with that request
// Pairs    affect placement/plan/pair_cost only, no other value of a fleet
// Revision the fleet's number increases, at most every revise_every_s, when a curve, the demand, the expected cores or
//          the price changes by more than change_ratio (the price: price_ratio), and immediately when a node is added
//          or removed, stops reporting or changes size
// Bounds   max_apps applications, max_pods running pods, max_curves curves kept over a restart
// Units    in names; seconds of the view's clock
// Errors   restore: malformed, and the model is unchanged; no other call fails
// Threads  single owner
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/demand.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/cluster/fleet_rows.hpp"
#include "placement/cluster/forecast.hpp"
#include "placement/cluster/mean_request.hpp"
#include "placement/cluster/node_usage.hpp"
#include "placement/cluster/pair_excess.hpp"
#include "placement/cluster/pod_time.hpp"
#include "placement/cluster/running_pods.hpp"

namespace wattle::placement {

struct ClusterModelOptions {
  // Returns a pod's demand and life in place of the model's prediction, if it knows them. Only a simulator sets it.
  std::function<std::optional<DemandPrediction>(const PodSpec&)> known;
  DemandOptions demand;
  ForecastOptions forecast;
  bool idle_nodes_sleep = false;  // empty nodes are powered down; a view with a sleeping node implies it
  double sleep_w = 0;             // power of a node that is powered down
  double stale_after_s = 10;      // a node that is silent for longer stays in the plan, without room
  double revise_every_s = 300;
  double change_ratio = 0.05;
  double price_ratio = 0.25;
  std::size_t max_pods = 200'000;
  std::size_t max_curves = 20'000;
};

class ClusterModel {
 public:
  explicit ClusterModel(ClusterModelOptions options = {});

  // Records that the pod runs on the node. DaemonSet pods get no handle, and the model does not learn from them.
  PodHandle placed(const PodSpec& pod, const std::string& node, MonoTime now);
  // Records mean usage over the last `interval_s`. Fastest if the readings are grouped by node.
  void used(std::span<const PodReading> readings, double interval_s) { pods_.use(readings, interval_s, demand_); }
  // Records that the pod is being deleted: its request counts until it is deleted, but its usage is no longer expected.
  void leaving(const std::string& uid, MonoTime now) { pods_.leave(uid, now, demand_); }
  void gone(const std::string& uid, MonoTime now);
  // Records the new request of a running pod; ignores other pods.
  void resized(const std::string& uid, const Resources& request);
  // Updates curves, usage, forecast and revision from the view, and returns the same as fleet(). Call about once a
  // second.
  Fleet& refresh(const ClusterView& view);

  DemandPrediction predict(const PodSpec& pod) const;
  PodEstimate ask(const PodSpec& pod) const;
  // Returns the estimate with which a running pod counts in its node's sums. No value if the pod is unknown.
  std::optional<PodEstimate> running(PodHandle pod) const { return pods_.estimate(pod, usage_.spread()); }
  // Returns the fleet of the view's nodes, all of them open. Requests and in-flight pods come from the view, all other
  // values from the last refresh. Calls refresh() if the set of nodes changed. The result is valid until the next call
  // of any member. A view that reports its changes must be the same object in every call.
  Fleet& fleet(const ClusterView& view);
  // Returns the same fleet with only these rows open.
  Fleet& fleet(const ClusterView& view, std::vector<std::size_t> only);

  // Sets the trust in the plan, 0..1, where pods come and go. Initially 0: only each pod's own cost decides.
  void set_plan_trust(double trust);

  const RunningPods& pods() const { return pods_; }
  const DemandModel& demand() const { return demand_; }
  const RequestForecast& forecast() const { return forecast_; }
  const PodTime& pod_time() const { return pod_time_; }
  PodTime& pod_time() { return pod_time_; }
  // Returns the curve that was restored for a node; null if there is none.
  const PowerCurve* kept_curve(const std::string& node) const;

  // Returns a versioned state with a digest. Curves come from the view. Running pods are not included: callers report
  // them again after a restart.
  std::string save(const ClusterView& view) const;
  Status restore(std::string_view bytes);

 private:
  RowValues row_values() const { return {usage_.spread(), cores_per_request_}; }
  double trust() const;
  void observe(const ClusterView& view, double passed_s);
  void revise(const ClusterView& view, bool must);
  void update(const ClusterView& view);

  ClusterModelOptions options_;
  DemandModel demand_;
  RequestForecast forecast_;
  MeanRequest requests_;
  KnownNodes nodes_;
  RunningPods pods_;
  NodeUsage usage_;
  PodTime pod_time_;
  PairExcess pairs_;
  FleetRows rows_;
  std::map<std::string, PowerCurve> kept_curves_;
  std::optional<MonoTime> refreshed_, revised_;
  double cores_per_request_ = 0.5;  // for pods in flight
  double plan_trust_ = 0;
  double planned_price_w_ = 0;  // of the current revision
};

}  // namespace wattle::placement
