// cluster_model: what policies may know of this cluster, learned from what was seen: demand and lives per application,
// curves per node, the cores that will be requested. Gives the Fleet and the PodEstimate that policies and the network's plan go by.
// Source   pods that were placed, what they used, that they went; the ClusterView (curves, requests, telemetry)
// Use      of a node: what its pods are expected to use and what it uses beside them, averaged over five minutes. A pod's own past
//          weighs as much as the prediction after a minute where its application is not known, later where it is known well
// Demand   of an application: heard of a pod that runs after a minute and whenever it was seen for twice as long, up to an hour
// Spread   a node strays from what is expected of it more than its pods would if each strayed by itself (peaks that come
//          together, means that are off): variances are multiplied by how much more, over all nodes, of the last half hour
// Waiting  for CPU: a curve of each node, round that of the fleet, from pressure told; the share of pod time that was waited is
//          measured against its budget (placement/objective), whose price is the fleet's. Unknown waiting moves neither
// Late     pods with a soft latency limit whose node tells their latency: the share of their time beyond it, against a budget of its own
// Pairs    of applications that make each other wait where they share a node (placement/pair_excess), from what each pod waited beyond
//          what others there do and the node's curve says. Nothing else that a fleet says is moved by them (placement/pair_cost)
// Revision the fleet's number rises, at most every revise_every_s, when a curve, the demand, the expected cores or the price
//          moved by more than change_ratio (the price: price_ratio); at once when nodes come, go, fall silent or change their size
// Bounds   max_apps applications, max_pods pods that run, max_curves curves that are kept over a restart
// Handles  who tells often of pods keeps what placed() gave: nothing is looked up by name then
// Units    in names; seconds of the view's clock
// Errors   restore: malformed, the knowledge stays as it was; nothing else
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster_view.hpp"
#include "placement/demand.hpp"
#include "placement/fleet.hpp"
#include "placement/forecast.hpp"
#include "placement/objective.hpp"
#include "placement/pair_excess.hpp"
#include "placement/waiting.hpp"

namespace wattle::placement {

struct ClusterModelOptions {
  DemandOptions demand;
  ForecastOptions forecast;
  bool idle_nodes_sleep = false;  // somebody powers empty nodes down; a view with a node asleep says so too
  double sleep_w = 0;             // of a node that is powered down
  double stale_after_s = 10;      // a node that is silent for longer is planned with as it is, without room
  double revise_every_s = 300;
  double change_ratio = 0.05;
  double price_ratio = 0.25;
  std::size_t max_pods = 200'000;
  std::size_t max_curves = 20'000;
};

// A pod that runs, as a ClusterModel knows it; once it is gone it means nobody, whoever comes after it.
struct PodHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: nobody
};

// What one of them used on average, and the share of the time that it waited for CPU; absent: nobody told.
struct PodReading {
  PodHandle pod;
  double cores = 0;
  std::optional<double> waited = std::nullopt;
};

class ClusterModel {
 public:
  explicit ClusterModel(ClusterModelOptions options = {});

  // The pod runs on the node. DaemonSet pods teach nothing, and are nobody.
  PodHandle placed(const PodSpec& pod, const std::string& node, MonoTime now);
  PodHandle pod(const std::string& uid) const;
  // Null: nobody.
  const std::string* uid(PodHandle pod) const;
  // They used that many cores on average over the last `interval_s`. Pods of a node side by side cost least.
  void used(std::span<const PodReading> readings, double interval_s);
  void used(PodHandle pod, double cores, double interval_s, std::optional<double> waited = std::nullopt) {
    const PodReading reading{pod, cores, waited};
    used({&reading, 1}, interval_s);
  }
  void used(const std::string& uid, double cores, double interval_s) { used(pod(uid), cores, interval_s); }
  void gone(const std::string& uid, MonoTime now);
  // Curves, use, forecast and revision, as of the view; gives what fleet() of it does. Call about once a second.
  Fleet& refresh(const ClusterView& view);

  DemandPrediction predict(const PodSpec& pod) const;
  PodEstimate ask(const PodSpec& pod) const;
  // What is expected of a pod that runs, as its node is reckoned with it; absent: it is not known.
  std::optional<PodEstimate> running(PodHandle pod) const;
  std::optional<PodEstimate> running(const std::string& uid) const { return running(pod(uid)); }
  // Rows are the view's nodes, all of them open; requests and in-flight pods are the view's, the rest as of the last
  // refresh. Refreshes itself when the view has other nodes. Valid until the next call of anything. A view that tells its
  // changes must be the same one for ever.
  Fleet& fleet(const ClusterView& view);
  // The same, these rows alone open.
  Fleet& fleet(const ClusterView& view, std::vector<std::size_t> only);

  // What the operator allows, and whether what runs now was placed by a policy of ours: what is measured then moves the price,
  // else it tells what the default scheduler has.
  void set_limits(const Limits& limits) {
    cpu_wait_.set_limit(limits.cpu_wait);
    late_.set_limit(limits.late);
  }
  void set_acting(bool acting) { acting_ = acting; }
  // In the plan of pods that come and go, as it has turned out (placement/plan_record). 0..1.
  void set_plan_trust(double trust);
  // Of the fleet. Where pods stay: what the forecast has earned, the less the less requests are alike and the more curves were opened anew
  // of late. 0 before the forecast knows anything.
  double trust() const;
  const Budget& cpu_wait() const { return cpu_wait_; }
  const Budget& late() const { return late_; }
  // Times that the latency term counts: 1 within the budget.
  double latency_price() const { return late_.price() > 1 ? late_.price() : 1; }
  const WaitingModel& fleet_waiting() const { return fleet_waiting_; }
  const DemandModel& demand() const { return demand_; }
  const RequestForecast& forecast() const { return forecast_; }
  const PairExcess& pair_excess() const { return pairs_; }
  std::size_t pods() const { return slot_of_.size(); }
  // The curve that a restart brought for a node; null: none.
  const PowerCurve* kept_curve(const std::string& node) const;

  // Versioned, with a digest. Curves are the view's. Pods that run are not in it: they are placed anew when they are seen.
  std::string save(const ClusterView& view) const;
  Status restore(std::string_view bytes);

 private:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  struct Known;
  struct Sums;
  struct Expected {
    double cores = 0, cores2 = 0, unsure_cores = 0;  // mean; variance, over time and of not knowing the mean
  };
  // Small: each reading touches it, and there may be a hundred thousand.
  struct Running {
    Known* known = nullptr;  // of its node, into known_, whose entries stay where they are; null: nobody has the slot
    std::uint32_t generation = 0;
    double seen_core_s = 0, seen_core2_s = 0, seen_s = 0, last_cores = 0;
    double told_s = 0, told_life_s = 0;    // of what was seen, to the demand model
    Expected expected;                     // that its node is reckoned with
    double prior_s = 0;                    // for so long the prediction counts as much as what was seen
    double waited_s = 0, waited_of_s = 0;  // since who slows whom was learned from it last
    DemandPrediction predicted;
    Expected reckon() const;
    std::optional<double> burst_cores2() const;
    void see(double cores, double interval_s);
    bool reports() const;
  };
  // Pods of a node by the target that their latency is of and the soft limit, so that time that is late costs a look at each kind.
  using Limited = std::map<std::pair<std::string, double>, std::uint64_t>;
  struct Identity {
    const std::string* uid = nullptr;  // into slot_of_
    AppKey app;
    AppId id = 0;
    double there_cores = 0;  // of its demand, that its node's AppsThere has
    Resources request;
    MonoTime since{};
    double told_core_s = 0;                  // with told_s
    Limited::value_type* limited = nullptr;  // that it is counted in; null: it has no soft limit
  };
  // Of the pods of a node.
  struct Sums {
    double pods_cores = 0;   // expected of them
    double pods_cores2 = 0;  // its variance
    double unsure_cores = 0;
    double last_cores = 0;  // what they used last
    double life_s = 0;      // that they were expected to live
    std::uint64_t pods = 0;
    void add(const Running& running);
    void take(const Running& running);
  };
  // What is known of a node beside its curve.
  struct Known : Sums {
    Limited limited;
    double other_cores = 0, other_cores2 = 0;
    AppsThere apps;
    // Of its pods that were busy, in the readings that are looked at.
    double least_wait = 1, second_wait = 1, most_wait = 0;
    std::size_t busy_pods = 0;
    WaitingModel waiting;
    double told_load = -1, told_wait = -1;  // last
    bool heard = false;
    std::optional<std::uint64_t> curve_shifts;  // last
    std::size_t row = kNoRow;                   // of the view that was refreshed last
  };
  struct Row {
    std::string name;
    Known* known = nullptr;  // into known_, whose entries stay where they are
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
  void follow(const ClusterView& view, double passed_s);
  double spread() const;
  void follow_curves(const ClusterView& view, double passed_s);
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
  std::vector<Identity> whose_;  // likewise
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> slot_of_;
  std::unordered_map<std::string, Known> known_;
  std::vector<Row> rows_;
  std::map<std::string, PowerCurve> kept_curves_;
  Fleet fleet_;
  std::vector<std::size_t> touched_;    // rows of which something was learned since they were filled
  std::uint64_t filled_ = 0;            // edition of the view
  double cores_per_request_ = 0.5;      // of pods in flight
  double request_weight_ = 0;           // of fleet_.mean_request
  double request_variance_cores2_ = 0;  // around its cores
  std::optional<MonoTime> refreshed_, revised_;
  WaitingModel fleet_waiting_;
  Budget cpu_wait_;
  Budget late_{PriceRule{1, 100, false}};
  PairExcess pairs_;
  bool waits_told_ = false;  // of a pod, since they were looked at last
  bool acting_ = false;
  double plan_trust_ = 0;
  double curve_doubt_ = 0;                           // share of the nodes whose curves were opened anew, fades
  double strayed_cores2_ = 0, foreseen_cores2_ = 0;  // of a node, means that fade
  double planned_price_w_ = 0;                       // of the present revision
};

// A Fleet from the view alone: curves, requests and telemetry, no expectation; for views that nobody has knowledge of.
Fleet fleet_of(const ClusterView& view);
PodEstimate ask_of(const PodSpec& pod);

}  // namespace wattle::placement
