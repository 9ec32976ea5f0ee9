// fleet_rows: keeps the rows of a Fleet in step with a view: expectations from known nodes, requests and in-flight pods
// from the view.
// Revision a row is compared with its values at the last revision (curve, waiting, size, room)
// Editions for a view that reports its changes, only changed rows and rows with changed pods are filled again
// Bounds   the rows are those of the last list_nodes(); the nodes must outlive this object
// Units    in names
// Errors   none
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/cluster/known_node.hpp"
#include "placement/cluster/power_curve.hpp"
#include "placement/cluster/waiting.hpp"

namespace wattle::placement {

struct FleetRowsOptions {
  bool idle_nodes_sleep = false;
  double sleep_w = 0;
  double stale_after_s = 10;
  double change_ratio = 0.05;  // of the watts of a revision
};

// Values that all rows share.
struct RowValues {
  double spread = 1;             // factor of variances
  double cores_per_request = 0;  // of pods in flight
};

class FleetRows {
 public:
  explicit FleetRows(FleetRowsOptions options);

  Fleet& fleet() { return fleet_; }
  const Fleet& fleet() const { return fleet_; }
  std::size_t size() const { return rows_.size(); }
  KnownNode& node(std::size_t row) const { return *rows_[row].known; }
  bool same_nodes(const ClusterView& view) const;
  // Replaces the rows with those of the view's nodes, without values.
  void list_nodes(const ClusterView& view, KnownNodes& nodes);

  // Sets the curve of a row.
  void set_curve(std::size_t row, const PowerCurve& curve);
  void fill(const ClusterView& view, const RowValues& values, ChangedRows& changed);
  // Like fill(), but only for the rows that changed; the clock advances with the next fill(). Returns false if the view
  // has other nodes.
  bool update(const ClusterView& view, const RowValues& values, ChangedRows& changed);
  // Opens all rows, or only these.
  void open_all();
  void open_only(std::vector<std::size_t> rows);

  // Returns whether a row differs enough from the last revision. `curves`: compares curves and waiting, too.
  bool moved(const ClusterView& view, bool curves) const;
  // Makes the current values those of the last revision.
  void revise(const ClusterView& view);

 private:
  // Values of the last revision.
  struct Row {
    std::string name;
    KnownNode* known = nullptr;
    bool usable = false;
    std::array<double, kCurvePoints> watts{};
    Resources allocatable;
    WaitingCurve waiting;
  };
  void fill_row(const ClusterView& view, const RowValues& values, std::size_t row);

  FleetRowsOptions options_;
  Fleet fleet_;
  std::vector<Row> rows_;
  std::uint64_t filled_ = 0;  // edition of the view
};

}  // namespace wattle::placement
