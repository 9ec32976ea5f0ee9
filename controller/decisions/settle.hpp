// settle: measures the outcome of a placement from its node's telemetry over the settle window.
// Source   records whose interval begins after the placement, with the kernel's count of OOM kills; the fitted curve of
//          the node; the pod's failure as the API server reports it
// Model    marginal watts = mean watts - curve(mean utilisation without the pod's own share), so that the drift of
//          co-tenants is not charged to the pod
// Units    in names
// Errors   none: unmeasured values have no value
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/clock.hpp"
#include "common/sample.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "placement/decide/decide.hpp"

namespace wattle::controller {

// Usage that a record reports per workload, by name; the keys point into the record.
struct WorkloadUse {
  std::optional<std::uint64_t> cpu_us;
  std::uint64_t oom_kills = 0;
};
using WorkloadUses = std::unordered_map<std::string_view, WorkloadUse>;
WorkloadUses workload_uses(const Record& record);

// Time-weighted sums over the window.
struct WindowSums {
  double power_s = 0, energy_j = 0;      // seconds with known power, and their energy
  double used_s = 0, used_core_s = 0;    // of the node: seconds with known usage, and core-seconds
  double pod_s = 0, pod_core_s = 0;      // the same for the pod
  double pressure_s = 0, stalled_s = 0;  // seconds with known pressure (cpu some), and stalled seconds
  double throttled_core_s = 0;           // of the node's workloads, caused by their own limits
  std::size_t records = 0;
  bool pod_listed = false;
  std::uint64_t pod_oom_kills = 0;

  void add(const Record& record, const WorkloadUses& uses, const std::string& pod_uid);
  void add(const Record& record, const std::string& pod_uid) { add(record, workload_uses(record), pod_uid); }

 private:
  void add_node(const Record& record, double interval_s);
};

// Share of the window in which a task waited for a CPU, other than because of its own limit. No value if pressure was
// not reported.
std::optional<double> waited_ratio(const WindowSums& sums);

// Watts that the pod added. No value unless power, utilisation and the pod's use were measured.
std::optional<double> marginal_w(const WindowSums& sums, double cores, const placement::PowerCurve& curve);

// The six metrics of a worker in percent of its own capacity.
placement::WorkerAfter worker_after(const placement::NodeView& node);

class SettleWindow {
 public:
  SettleWindow(std::uint64_t decision_id, placement::PodSpec pod, std::string node, std::size_t row, MonoTime placed_at,
               Duration length, placement::RawOutcome begun, std::optional<ArmNow> arm = {})
      : decision_id_(decision_id),
        pod_(std::move(pod)),
        node_(std::move(node)),
        row_(row),
        placed_at_(placed_at),
        length_(length),
        outcome_(std::move(begun)),
        arm_(arm) {}

  // Adds a record of the node whose interval ended at `end` on the controller's clock. `ahead`: older records will
  // follow.
  void add(const Record& record, const WorkloadUses& uses, MonoTime end, bool ahead = false);
  void add(const Record& record, MonoTime end, bool ahead = false) { add(record, workload_uses(record), end, ahead); }
  // Records that the pod stopped there. `final`: no failure report will follow; otherwise one may follow until the end
  // of the window.
  void pod_gone(bool final = true) {
    gone_ = true;
    final_ = final_ || final;
  }
  // Records that the pod could not start, or keep running, there. Keeps the first reason.
  void pod_failed(std::string_view how) {
    if (failure_.empty()) failure_ = how;
  }
  // Returns true if the window has ended or no more records will come.
  bool over(MonoTime now) const;
  // No value if nothing was measured and the pod did not fail: then there is no outcome.
  std::optional<placement::RawOutcome> finish(const placement::ClusterView& view) const;

  std::uint64_t decision_id() const { return decision_id_; }
  const std::string& node() const { return node_; }
  const std::string& pod_uid() const { return pod_.uid; }
  // State of the experiment at the decision; no value if it is unknown.
  const std::optional<ArmNow>& arm() const { return arm_; }
  const WindowSums& sums() const { return sums_; }
  // The reason of the pod's failure (kube::PodFailure); empty if it did not fail.
  std::string_view failure() const { return failure_; }

 private:
  std::uint64_t decision_id_;
  placement::PodSpec pod_;
  std::string node_;
  std::size_t row_;  // of the node in the view; rows do not move
  MonoTime placed_at_;
  Duration length_;
  placement::RawOutcome outcome_;
  std::optional<ArmNow> arm_;
  WindowSums sums_;
  bool covered_ = false;
  bool gone_ = false, final_ = false;
  std::string failure_;
};

}  // namespace wattle::controller
