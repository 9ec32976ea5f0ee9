// world: the kernel of a cluster (sim/cluster/kernel) on a manual clock, with its environment: users near and far,
// faults, and agents whose reports are late, noisy, missing or wrong (sim/world/trouble.hpp).
// Truth    the kernel's; never reported
// Reported view(): the reports of agents and API server so far, as controller/state would hold them; its curves are
//          fitted to reported samples only
// Units    in names; seconds from the start of the run where a time is a plain number
// Errors   place, remove: not_found, conflict, exhausted, naming pod or node
// Threads  single owner; the same options and calls give the same bytes
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "common/start_window.hpp"
#include "common/stats/histogram.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/reward.hpp"
#include "provision/requests/request_rule.hpp"
#include "sim/cluster/kernel.hpp"
#include "sim/world/kube_scoring.hpp"
#include "sim/world/power.hpp"
#include "sim/world/trouble.hpp"
#include "sim/world/users.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim {

// A server with properties that only the world knows.
struct NodeSpec {
  ServerModel server;
  double latency_ms = 10;      // of its users, while it is not crowded
  double crowded_ratio = 0.6;  // wanted share of its cores above which its tenants wait for each other
  double waiting_times = 1;    // factor on that waiting (sim/cluster/machine)
  double latency_slope = 1.0;  // latency is multiplied by 1 + slope x pressure
  double blocked_cores = 0;    // requested and used by permanent load
  double net_bytes_per_s = 125e6, disk_bytes_per_s = 500e6;
  std::string zone = {};  // empty: in no zone
};

struct WorldOptions {
  std::uint64_t seed = 1;
  std::vector<NodeSpec> nodes;
  FaultPlan trouble;
  UserOptions users;
  RequestOptions requests;
  bool idle_nodes_sleep = false;
  double sleep_after_s = 60;  // without a pod
  double telemetry_period_s = 5;
  double telemetry_delay_s = 0.5;
  double power_noise_ratio = 0.01;  // relative standard deviation of one sample
  double latency_noise_ratio = 0.05;
  double demand_slot_s = kDemandSlot_s;
  double settle_s = 20;  // outcome window, from the start of the pod
  double notice_s = 40;  // until the API server marks a lost machine as not ready
  std::int64_t pod_capacity = 110;
  double start_window_s = seconds(StartCap{}.window);  // how long a binding counts as a start there
  // Applications (SimPod::app) that disturb each other; null: none.
  std::shared_ptr<const cluster::Pairs> pairs;
  // If not empty: one meter for all nodes. Agents estimate watts from datasheets, which are wrong by this factor, and
  // the estimates are scaled to the meter.
  std::vector<double> datasheet_times;
  bool curves_known = false;  // nodes report their real curves, for comparison with full knowledge
  // Returns the curve that was fitted to a node in an earlier run, as a controller keeps it over a restart; null: none.
  // Called only by the constructor.
  std::function<const placement::PowerCurve*(const std::string& node)> kept_curve;
};

// A placement whose outcome has been read from telemetry.
struct Settled {
  std::uint64_t decision_id = 0;
  placement::RawOutcome outcome;
};

// True sums over all nodes from the start to now; for evaluation, never for decisions.
struct WorldFigures {
  double energy_j = 0;
  double active_node_s = 0;  // node-seconds with a pod
  double awake_node_s = 0;
  double pod_s = 0;
  double constrained_pod_s = 0;  // of pods that have a soft latency
  double late_pod_s = 0;         // of those, while their node exceeded it
  double pressure_pod_s = 0;     // pods x share of time they wait for CPU
  double waking_pod_s = 0;       // pods on waking machines
  double stranded_pod_s = 0;     // pods on lost machines
  double crowded_node_s = 0;     // wanted more than its crowded_ratio
  double imbalance_pct_s = 0;    // sum over CPU, memory, rx, tx, read, write of the standard deviation between nodes
  double utilisation_s = 0;      // mean used share of cores of all nodes
  double used_core_s = 0;
  double work_core_s = 0;      // completed work: less than used_core_s where pods disturb each other
  double work_pod_s = 0;       // lifetime of the pods without disturbance
  double requests = 0;         // of users, answered
  double failed_requests = 0;  // rejected for lack of room
  double response_s = 0;       // sum over the answered requests
  std::uint64_t wakes = 0, lost_pods = 0;
  stats::Histogram latency_ms;   // of pods with a soft latency, by pod-seconds
  stats::Histogram response_ms;  // by requests
};

class World;

// Mean usage over an interval in which the pod ran throughout. The pod is identified by its number in placed().
struct PodUse {
  cluster::PodId pod = 0;
  double cores = 0, memory_bytes = 0;
  double waited = 0;  // for a CPU, share of the interval
};

// Follows the world; called within advance_to, place and remove. Must outlive the world.
class WorldObserver {
 public:
  virtual ~WorldObserver() = default;
  // Called when a pod was bound or deleted, as an API server reports it. `row` is the view's; `id` is unique in this
  // world.
  virtual void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
                      MonoTime now) = 0;
  virtual void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) = 0;
  // Called when the request of a running pod changes. Optional.
  virtual void resized(const std::string& /*uid*/, const placement::Resources& /*request*/) {}
  // Called with the usage on one node when it is delivered; pods may have ended since.
  virtual void used(std::span<const PodUse> pods, double interval_s) = 0;
  // Called when the view has all telemetry of an interval.
  virtual void reported(const World& world) = 0;
};

class World : private cluster::Observer {
 public:
  explicit World(WorldOptions options, WorldObserver* observer = nullptr);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Clock& clock() const { return clock_; }
  MonoTime now() const { return kernel_.now(); }
  double now_s() const { return seconds(now().time_since_epoch()); }
  std::size_t size() const { return nodes_.size(); }

  // Executes all events up to that time, in order; ignores times in the past.
  void advance_to(double when_s);

  // `outcome` is the state at the decision (placement::begin_outcome); take_settled returns it completed.
  Status place(const SimPod& pod, std::size_t node, std::uint64_t decision_id, placement::RawOutcome outcome);
  Status remove(const std::string& uid);
  // Sets the request that the scheduler counts, whether it fits or not. The scheduler counts it even while the kubelet
  //          defers the resize for lack of room.
  Status resize(const std::string& uid, const placement::Resources& request);
  std::vector<std::string> running() const;  // uids, oldest first
  // Pods that were lost with their machines, with their remaining life, so that the caller can recreate them.
  std::vector<SimPod> take_lost();
  std::vector<Settled> take_settled();

  // Valid until the next call or until the world advances.
  const placement::ClusterView& view(const placement::PodSpec& pod, std::uint64_t pending_pods = 0) const;
  std::vector<KubeNode> kube_nodes() const;  // the scheduler's cache: requests only
  WorldFigures figures();                    // up to now
  // The truth, for evaluation: the node's current properties, including its real curve.
  const NodeSpec& truth(std::size_t node) const { return nodes_[node].spec; }
  double wanted_cores(std::size_t node) const { return kernel_.node(node).wanted_cores; }
  const std::vector<cluster::Kernel<MonoTime>::Pod>& pods(std::size_t node) const { return kernel_.node(node).pods; }
  const SimPod& pod(cluster::PodId id) const { return pods_.at(id).pod; }
  bool powered(std::size_t node) const {
    const cluster::Power power = kernel_.node(node).power;
    return power == cluster::Power::awake || power == cluster::Power::waking;
  }

 private:
  using Power = cluster::Power;
  // An interval of one node, as its agent reports it.
  struct AgentReport {
    MonoTime at{};
    double power_w = 0, used_cores = 0, pressure_ratio = 0, latency_ms = 0;
    double memory_used_bytes = 0;
    Io io;
    std::uint64_t tcp_established = 0;
    bool asleep = false;
    bool steady = false;       // awake throughout: a reading for the curve
    bool silent = false;       // the report is lost
    std::vector<PodUse> pods;  // only with an observer
  };
  struct Running {
    SimPod pod;
    double asked_per_s = 0, requests_per_s = 0, failed_per_s = 0, response_s = 0;
  };
  // A pod of a node, as the world follows it.
  struct Hosted {
    Running* running = nullptr;       // into pods_
    double cpu_core_s = 0;            // as counted by its cgroup
    double cpu_at_sample_core_s = 0;  // at the last sample
    double memory_bytes = 0;
    std::size_t app = 0;
    bool plain = false;  // has no users and no latency limit
  };
  // Waiting of a pod, if there are pairs: until now, and until the last sample.
  struct Waited {
    double s = 0, at_sample_s = 0;
  };
  // Constant usage of a node's pods.
  struct Held {
    double memory_bytes = 0;
    Io io;
  };
  struct Node {
    NodeSpec spec;
    std::vector<Hosted> pods;    // in the order of the kernel's
    std::vector<Waited> waited;  // in the order of the kernel's; empty without pairs
    std::vector<std::uint64_t> pods_of_app;
    std::optional<Held> held;  // unset after pods started or ended
    KubeNode kube;
    double latency_ms = 0, latency_ms_s = 0;  // now, and its integral
    cluster::Totals sampled;                  // the kernel's, at the last sample
    double latency_sampled_ms_s = 0;          // at the last sample
    bool steady = true;
    bool ready = true;                  // as in the API server
    std::optional<AgentReport> frozen;  // the repeated report of a faulty agent
    std::optional<AgentReport> reported;
    std::vector<PodUse> spare;  // buffer for reuse
    placement::PowerCurve curve;
    mutable bool shown = false;  // the last report is in view_
  };
  // A placement under observation.
  struct Window {
    cluster::PodId pod = 0;
    placement::RawOutcome outcome;
    bool woke = false;  // without this pod the node would sleep
    double asleep_w = 0;
    std::optional<MonoTime> from;  // start of the pod; unset while the node wakes
    double cpu_at_sample_core_s = 0;
    std::uint64_t samples = 0;
    double power_w = 0, used_cores = 0, pod_cores = 0, pressure_ratio = 0, latency_ms = 0;  // sums
  };
  enum class What { shift, curve, gone, noticed, back, slot, sample, deliver, settle };
  struct Event {
    MonoTime at{};
    std::uint64_t order = 0;
    What what{};
    std::uint64_t who = 0;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  void schedule(MonoTime at, What what, std::uint64_t who = 0);
  void schedule_troubles();
  void handle(const Event& event);
  void handle_trouble(const Event& event);
  void lose_pods(std::size_t node);
  void ran(std::size_t node, double dt_s) override;
  void ended(cluster::PodId pod, std::size_t node, std::size_t position) override;
  void woke(std::size_t node) override { open_windows(node); }
  void changed(std::size_t node) override;
  void open_windows(std::size_t node);  // its pods start to run now
  MonoTime outcome_at() const;          // for a pod that starts now: after its first reported interval
  // Updates the users' demand on the pods and the resulting service. Returns false if there are no users.
  bool serve(std::size_t node);
  void serve_closed(std::size_t node);
  void serve_open(std::size_t node);
  void run_slot();
  void sample();
  AgentReport measure(std::size_t node);
  void split_rack_meter(std::vector<AgentReport>& batch) const;
  const Held& held(Node& node) const;
  void name_nodes();
  void show_reported(std::size_t node) const;
  double cpu_core_s(cluster::PodId pod) const;
  void lie(std::vector<AgentReport>& batch);
  bool silent(std::size_t node) const;
  void judge_balance(const std::vector<AgentReport>& batch);
  void sample_windows(const std::vector<AgentReport>& batch);
  void deliver();
  void settle(std::uint64_t decision_id);

  WorldOptions options_;
  WorldObserver* observer_;
  ManualClock clock_;
  Random random_;  // telemetry noise only
  cluster::Kernel<MonoTime> kernel_;
  std::vector<Node> nodes_;
  std::map<cluster::PodId, Running> pods_;
  std::map<std::string, cluster::PodId> id_of_;
  std::map<std::string, std::size_t> apps_;
  std::map<std::uint64_t, Window> windows_;  // by decision
  std::vector<Settled> settled_;
  std::vector<SimPod> lost_;
  std::size_t serving_ = 0;                      // pods that users may use
  bool serving_changed_ = false;                 // users move between them: the load of every node changes
  std::map<std::string, std::size_t> replicas_;  // by application; also affects the users' load
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::deque<std::vector<AgentReport>> on_the_way_;
  std::uint64_t events_made_ = 0, pods_made_ = 0, slot_ = 0;
  WorldFigures figures_;
  mutable placement::ClusterView view_;  // for the last request
};

}  // namespace wattle::sim
