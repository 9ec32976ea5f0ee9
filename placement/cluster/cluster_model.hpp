// cluster_model: learns the cluster from observations: demand and lifetimes per application,
// curves per node, and the cores that will be requested. Builds the Fleet and the PodEstimate that policies and the
// network's plan use.
// Source   placed pods, their usage and their ends; the ClusterView (curves, requests, telemetry)
// Use      usage of a node: the expected usage of its pods plus its other usage, averaged over five minutes. For an
//          unknown application a pod's own history weighs as much as the prediction after one minute; for a well-known
//          one it takes longer
// Demand   per application; learns from a running pod after one minute, then each time its observed time has doubled,
//          up to an hour
// Spread   a node deviates more from its expected usage than independent pods would (common peaks, wrong means).
//          Variances are multiplied by that factor, measured over all nodes during the last half hour
// Requests the fleet's mean request follows the pods that come, multiplied by what resizes have left of the running
//          pods' requests; the forecast counts a resize as a correction of what came. Demand stays a share of the
//          request that a pod came with, because the next pods of its template come with it
// Waiting  for CPU: a curve per node around that of the fleet, fitted to reported pressure. The waited share of pod
//          time is compared with its budget (placement/worth/objective), which sets the fleet's price. Unknown waiting
//          changes neither
// Late     for pods with a soft latency limit on nodes that report latency: the share of their time above the limit,
//          with a budget of its own
// Pairs    applications that make each other wait on a shared node (placement/cluster/pair_excess), learned from the
//          waiting of each pod beyond that of other pods there and the node's curve. Pairs affect
//          placement/plan/pair_cost only, no other value of a fleet
// Revision the fleet's number increases, at most every revise_every_s, when a curve, the demand, the expected cores or
// the price changes by more than change_ratio (the price: price_ratio), and immediately when nodes come, go, fall
// silent or change size
// Bounds   max_apps applications, max_pods running pods, max_curves curves kept over a restart
// Handles  callers that report often on a pod keep the handle from placed() to avoid lookups by name
// Units    in names; seconds of the view's clock
// Errors   restore: malformed, the model stays as it was; no other call fails
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster/budget.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/demand.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/cluster/forecast.hpp"
#include "placement/cluster/pair_excess.hpp"
#include "placement/cluster/waiting.hpp"

namespace wattle::placement {

struct ClusterModelOptions {
  // Knows a pod's demand and life in place of the model; only a simulator sets it. No value: the model predicts.
  std::function<std::optional<DemandPrediction>(const PodSpec&)> known;
  DemandOptions demand;
  ForecastOptions forecast;
  bool idle_nodes_sleep = false;  // empty nodes are powered down; a view with a sleeping node implies it
  double sleep_w = 0;             // power of a node that is powered down
  double stale_after_s = 10;      // a node that is silent for longer stays in the plan as it is, without room
  double revise_every_s = 300;
  double change_ratio = 0.05;
  double price_ratio = 0.25;
  std::size_t max_pods = 200'000;
  std::size_t max_curves = 20'000;
};

// Identifies a running pod in a ClusterModel. After the pod ends, its handle refers to no pod, even if the slot is
// reused.
struct PodHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: no pod
};

// A pod's mean usage and the share of the time that it waited for CPU; `waited` is unset if no source reported it.
struct PodReading {
  PodHandle pod;
  double cores = 0;
  std::optional<double> waited = std::nullopt;
};

class ClusterModel {
 public:
  explicit ClusterModel(ClusterModelOptions options = {});

  // Records that the pod runs on the node. DaemonSet pods get no handle and are not learned from.
  PodHandle placed(const PodSpec& pod, const std::string& node, MonoTime now);
  PodHandle pod(const std::string& uid) const;
  // Null if the handle refers to no running pod.
  const std::string* uid(PodHandle pod) const;
  // Records mean usage over the last `interval_s`. Grouping the pods of a node is fastest.
  void used(std::span<const PodReading> readings, double interval_s);
  void used(PodHandle pod, double cores, double interval_s, std::optional<double> waited = std::nullopt) {
    const PodReading reading{pod, cores, waited};
    used({&reading, 1}, interval_s);
  }
  void used(const std::string& uid, double cores, double interval_s) { used(pod(uid), cores, interval_s); }
  void gone(const std::string& uid, MonoTime now);
  // Records the request that a running pod has from now on; ignores other pods.
  void resized(const std::string& uid, const Resources& request);
  // Updates curves, usage, forecast and revision from the view, and returns the same as fleet(). Call about once a
  // second.
  Fleet& refresh(const ClusterView& view);

  DemandPrediction predict(const PodSpec& pod) const;
  PodEstimate ask(const PodSpec& pod) const;
  // Returns the estimate of a running pod that its node's sums contain. No value if the pod is unknown.
  std::optional<PodEstimate> running(PodHandle pod) const;
  std::optional<PodEstimate> running(const std::string& uid) const { return running(pod(uid)); }
  // Returns the fleet of the view's nodes, all of them open. Requests and in-flight pods are the view's; the rest is
  // from the last refresh. Calls refresh() if the view has other nodes. The result is valid until the next call of any
  // member. A view that reports its changes must be the same object in every call.
  Fleet& fleet(const ClusterView& view);
  // Returns the same fleet with only these rows open.
  Fleet& fleet(const ClusterView& view, std::vector<std::size_t> only);

  // Sets the operator's limits, and whether a Wattle policy places pods now. If it does, measurements move the price;
  // otherwise they measure the default scheduler.
  void set_limits(const BudgetLimits& limits) {
    cpu_wait_.set_limit(limits.cpu_wait);
    late_.set_limit(limits.late);
  }
  void set_acting(bool acting) { acting_ = acting; }
  // Sets the trust, 0..1, in the plan where pods come and go; 0 at first: each pod's own cost decides.
  void set_plan_trust(double trust);
  // Returns the fleet's trust. Where pods stay, it is the trust in the forecast, reduced by how much requests differ
  // and by how many curves were reopened recently. 0 before the forecast has data.
  double trust() const;
  const Budget& cpu_wait() const { return cpu_wait_; }
  const Budget& late() const { return late_; }
  // Factor of the latency term: 1 within the budget.
  double latency_price() const { return late_.price() > 1 ? late_.price() : 1; }
  const WaitingModel& fleet_waiting() const { return fleet_waiting_; }
  const DemandModel& demand() const { return demand_; }
  const RequestForecast& forecast() const { return forecast_; }
  const PairExcess& pair_excess() const { return pairs_; }
  std::size_t pods() const { return slot_of_.size(); }
  // Returns the curve that was restored for a node; null if there is none.
  const PowerCurve* kept_curve(const std::string& node) const;

  // Returns a versioned state with a digest. Curves come from the view. Running pods are not included: callers report
  // them again after a restart.
  std::string save(const ClusterView& view) const;
  Status restore(std::string_view bytes);

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  struct Known;
  struct Sums;
  struct Expected {
    double cores = 0, cores2 = 0, unsure_cores = 0;  // mean; variance, over time and from uncertainty of the mean
  };
  // Small, because each reading touches it and there may be a hundred thousand.
  struct Running {
    Known* known = nullptr;  // its node in known_, whose entries have stable addresses; null: the slot is free
    std::uint32_t generation = 0;
    double seen_core_s = 0, seen_core2_s = 0, seen_s = 0, last_cores = 0;
    double reported_s = 0,
           reported_life_s = 0;  // parts of the observed time and life that the demand model has received
    Expected expected;           // the part that the node's sums contain
    // observed time after which the prediction weighs as much as the observations
    double prior_s = 0;
    double waited_s = 0, waited_of_s = 0;  // since the last learning of pairs from this pod
    DemandPrediction predicted;
    Expected reckon() const;
    std::optional<double> burst_cores2() const;
    void see(double cores, double interval_s);
    bool reports() const;
  };
  // Pods of a node by (latency target, soft limit), so that late time costs one lookup per kind.
  using Limited = std::map<std::pair<std::string, double>, std::uint64_t>;
  struct Identity {
    const std::string* uid = nullptr;  // into slot_of_
    AppKey app;
    AppId id = 0;
    double there_cores = 0;  // part of its demand in the node's AppsThere
    Resources request;       // now
    Resources arrived_with;
    MonoTime since{};
    double reported_core_s = 0;              // with told_s
    Limited::value_type* limited = nullptr;  // the entry that counts this pod; null: the pod has no soft limit
  };
  // Sums over the pods of a node.
  struct Sums {
    double pods_cores = 0;   // expected mean usage
    double pods_cores2 = 0;  // variance of the expected usage
    double unsure_cores = 0;
    double last_cores = 0;  // latest usage
    double life_s = 0;      // expected lifetimes
    std::uint64_t pods = 0;
    void add(const Running& running);
    void take(const Running& running);
  };
  // State of a node beside its curve.
  struct Known : Sums {
    Limited limited;
    double other_cores = 0, other_cores2 = 0;
    AppsThere apps;
    // Over its busy pods, in the readings under evaluation.
    double least_wait = 1, second_wait = 1, most_wait = 0;
    std::size_t busy_pods = 0;
    WaitingModel waiting;
    double reported_load = -1, reported_wait = -1;  // from the last reading
    bool sampled = false;
    std::optional<std::uint64_t> curve_shifts;  // at the last refresh
    double half_load_w = 0;                     // as in FleetNode
    std::size_t row = kNoRow;                   // in the view of the last refresh
  };
  struct Row {
    std::string name;
    Known* known = nullptr;  // into known_, whose entries have stable addresses
    bool usable = false;
    std::array<double, kCurvePoints> watts{};  // of the present revision
    Resources allocatable;
    WaitingCurve waiting;
  };
  bool runs(PodHandle pod) const {
    return pod.slot < pods_.size() && pods_[pod.slot].generation == pod.generation && pods_[pod.slot].known != nullptr;
  }
  std::uint32_t free_slot();
  void report(std::uint32_t slot);
  // Removes (sign -1) or adds (sign 1) the pod's part of `resized_`.
  void count_resized(const Identity& whose, int sign);
  void follow_mean_request();
  void follow(const ClusterView& view, double passed_s);
  double spread() const;
  void follow_curves(const ClusterView& view, double passed_s);
  void follow_usual_request();
  void follow_waiting(const ClusterView& view, double passed_s);
  void follow_late(const ClusterView& view, double passed_s);
  void follow_pairs(const ClusterView& view);
  bool same_nodes(const ClusterView& view) const;
  void list_nodes(const ClusterView& view);
  void update(const ClusterView& view);
  Fleet& all_open();
  void fill(const ClusterView& view);
  void fill_row(const ClusterView& view, std::size_t row);
  void touch(const Known& known);
  void revise(const ClusterView& view, bool must);

  ClusterModelOptions options_;
  DemandModel demand_;
  RequestForecast forecast_;
  std::vector<Running> pods_;    // by slot
  std::vector<Identity> whose_;  // by slot
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> slot_of_;
  std::unordered_map<std::string, Known> known_;
  std::vector<Row> rows_;
  std::map<std::string, PowerCurve> kept_curves_;
  Fleet fleet_;
  std::vector<std::size_t> touched_;  // rows with new data since they were filled
  std::uint64_t filled_ = 0;          // edition of the view
  double cores_per_request_ = 0.5;    // of pods in flight
  Resources arrived_request_{1, 0};   // mean of the pods that came
  double request_weight_ = 0;         // of that mean
  // Sums over the running pods whose requests differ from those they came with, and over all running pods.
  struct Resized {
    std::size_t pods = 0;
    Resources change, arrived_with;
  } resized_;
  double request_variance_cores2_ = 0;  // variance of the requested cores around that mean
  std::optional<MonoTime> refreshed_, revised_;
  WaitingModel fleet_waiting_;
  Budget cpu_wait_;
  Budget late_{PriceRule{1, 100, false}};
  PairExcess pairs_;
  bool waits_reported_ = false;  // a pod reported waiting since the last evaluation
  bool acting_ = false;
  double plan_trust_ = 0;
  double curve_doubt_ = 0;                           // share of nodes whose curves were reopened, decaying
  double strayed_cores2_ = 0, foreseen_cores2_ = 0;  // of a node, decaying means
  double planned_price_w_ = 0;                       // of the present revision
};

// Builds a Fleet from the view alone (curves, requests, telemetry), without expectations, for callers without a
// ClusterModel.
Fleet fleet_of(const ClusterView& view);
PodEstimate ask_of(const PodSpec& pod);

}  // namespace wattle::placement
