// series: samples the history of the fleet, its nodes and its pods for the page's charts.
// Bounds   the fleet as in fleet_history.hpp; a node and a pod as in part_history.hpp; kMaxSeriesPods pods, the first
//          to appear
// Units    in the names of values; NaN if unknown, which documents show as null
// Errors   none. The history of nodes and pods is empty after a restart
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/steps.hpp"
#include "controller/web/fleet_history.hpp"
#include "controller/web/part_history.hpp"

namespace wattle::controller {

struct Parts;
struct Node;

inline constexpr std::size_t kMaxSeriesPods = 20'000;
inline constexpr std::string_view kHistoryFile = "history";  // in data_dir

// Measured and estimated watts are kept separate.
struct FleetSums {
  std::optional<double> measured_w, estimated_w, cpu_used_cores, cpu_cores;
  std::optional<double> idle_w;  // of nodes that report it
  double could_sleep_w = 0;      // saved by `could_sleep` nodes: a projection, only where sleep.mode is off
  std::uint64_t nodes = 0, silent = 0, asleep = 0, masked = 0, measured = 0, estimated = 0, pods = 0, could_sleep = 0,
                with_pods = 0;
  std::optional<double> power_w() const;
};
// `sums` is complete after the last step.
Steps sum_fleet(const Parts& from, std::shared_ptr<FleetSums> sums);
// Returns the power that the nodes would draw with the default scheduler's choices, by the model. No value while those
// are followed.
std::optional<double> default_w(const Parts& from, const FleetSums& sums);

// The values of a node that lists, the fleet map and series show.
struct NodeGlance {
  std::optional<double> power_w, use_ratio, pressure_ratio, latency_ms;
  bool silent = false;     // not connected, or its telemetry is stale: decisions ignore it
  bool asleep = false;     // it sleeps, or is silent because Wattle puts it to sleep or wakes it
  bool masked = false;     // cordoned, not ready or deleted
  bool full = false;       // at its start cap
  bool estimated = false;  // its power is estimated
};
NodeGlance glance(const Parts& from, const std::string& name, const Node& node);

class Series {
 public:
  static constexpr std::array<std::string_view, 4> kNode{"power_w", "use_ratio", "pressure_ratio", "latency_ms"};
  static constexpr std::array<std::string_view, 2> kPod{"power_w", "cpu_cores"};

  // Adds the samples that are due, and marks changes of the mode, the policy or the deciding network. Call more often
  // than the shortest step.
  Steps sample(const Parts& from);

  struct Past {
    const Ring* ring = nullptr;  // null: no history
    std::span<const std::string_view> names;
    Duration step{};
    WallTime end{};  // of the newest row
  };
  const FleetHistory& fleet() const { return fleet_; }
  // Continues a saved history; call before the first sample().
  Status recall(std::string_view saved) { return fleet_.restore(saved); }
  // Recalls the file in data_dir. An unusable one is logged and kept until the next write; the history starts empty.
  void recall_file(const std::string& data_dir, const Log& log);
  // The finest steps that have all known values since `from`; without `from`, the fine steps.
  Past node(const std::string& name, std::optional<WallTime> from) const;
  Past pod(const std::string& uid, std::optional<WallTime> from) const;

 private:
  void add_fleet(const Parts& from, const FleetSums& sums, std::int64_t now_s);
  void mark_changes(const Parts& from, std::int64_t now_s);
  Steps sample_parts(const Parts& from);
  using Histories = std::unordered_map<std::string, PartHistory>;
  bool ends_coarse() const { return rows_ == PartHistory::kRowsPerCoarse; }
  void add_row(PartHistory& history, std::span<const float> row) const;
  Past past(const Histories& all, const std::string& name, std::optional<WallTime> from) const;

  FleetHistory fleet_;
  Histories nodes_, pods_;
  std::optional<std::int64_t> fleet_slot_;
  std::optional<MonoTime> parts_at_, counted_at_;
  std::uint64_t decisions_ = 0, successful_ = 0;  // at counted_at_
  std::string mode_, policy_, decides_;           // as last marked; empty: none yet
  WallTime parts_end_{}, coarse_end_{};           // of the newest rows of nodes and pods
  std::size_t rows_ = 0;                          // since coarse_end_
};

}  // namespace wattle::controller
