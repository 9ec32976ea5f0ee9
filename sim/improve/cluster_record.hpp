// cluster_record: the history of a cluster, as `wattle model record` writes it, and its days as episodes for replay.
// Source   JSON lines (docs/reference/improve.md): a head, then one node, pod or hour of a node each
// Days     of 24 hours, counted back from the end of the record. A pod that already runs at the start of a day arrives
//          in its first second, and the first part of the day is not measured. A pod uses its recorded cores of each
//          hour; for hours without a measurement the mean of its other hours, or half of its request. Applications are
//          known from pods that ended before the day, or from the day's own pods if there are too few
// Units    in names; times are Unix seconds, in episodes from the day's start
// Errors   malformed: names the line; out_of_range: the record has no whole day
// Threads  values, pure functions
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

inline constexpr double kHour_s = 3600;

struct RecordedNode {
  std::string name;
  double cores = 0, memory_bytes = 0;
  std::array<double, placement::kCurvePoints> watts{};
  std::uint64_t readings = 0;  // behind the curve's fit
  bool asleep = false;
  double wake_j = 0;
};
struct RecordedPod {
  std::size_t app = 0, node = 0;  // kNoNode: a removed node
  placement::Resources request;
  double placed_s = 0, ended_s = std::numeric_limits<double>::infinity();  // infinity: still running
  std::vector<float> used_cores;  // per hour, from that of its start; NaN: unknown
};
struct RecordedHour {
  double from_s = 0;
  std::size_t node = 0;
  double measured_j = 0;  // measured only, without modelled energy
};
struct ClusterRecord {
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
  double to_s = 0;
  std::vector<RecordedNode> nodes;
  std::vector<placement::AppKey> apps;
  std::vector<RecordedPod> pods;  // by placed_s
  std::vector<RecordedHour> hours;
};
Result<ClusterRecord> parse_cluster_record(std::string_view text, const std::string& subject);

struct DayOptions {
  std::size_t most = 30;  // days
  double day_s = 86400;   // whole hours
  bool idle_nodes_sleep = false;
};
struct RecordedDay {
  Episode episode;
  double from_s = 0;
  std::vector<std::size_t> node_of;  // per pod, its real node; kNoNode
};
struct RecordedDays {
  std::vector<std::unique_ptr<PodDay>> demand;  // referenced by the episodes
  std::vector<RecordedDay> days;                // oldest first
};
Result<RecordedDays> days_of(const ClusterRecord& record, const DayOptions& options, const std::string& subject);

}  // namespace wattle::sim::consolidation
