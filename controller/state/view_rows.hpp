// view_rows: maintains the rows of placement/'s ClusterView: the node of each row, the age of its telemetry, and its
// pods per application.
// Bounds   the row of a removed node stays reserved for half an hour, for outcomes that are still expected there; then
//          another node may use it
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

// Number of pods per name and row.
class CountsByRow {
 public:
  using Rows = std::map<std::size_t, std::uint64_t>;
  void add(const std::string& name, std::size_t row);
  void remove(const std::string& name, std::size_t row);
  // Null if there are none.
  const Rows* of(const std::string& name) const;

 private:
  std::unordered_map<std::string, Rows> rows_;
};

class ViewRows {
 public:
  // Adds a row without values for the node; reuses a row whose reservation has ended.
  std::size_t add(const std::string& node, MonoTime now);
  // Keeps the row as a node without name or capacity, so that other rows do not move.
  void retire(std::size_t row, MonoTime now);
  // Returns the row for a change, and marks it as changed for readers of the view.
  placement::NodeView& change(std::size_t row) {
    view_.edition_of[row] = ++view_.edition;
    return view_.nodes[row];
  }
  void sampled(std::size_t row, MonoTime at) { sampled_at_[row] = at; }
  // Counts a pod of the application that is bound to the row's node; ignores an empty name.
  void count(const std::string& app, std::size_t row);
  void uncount(const std::string& app, std::size_t row);
  // Counts a replica of the owner that is bound to the row's node or in flight to it; ignores an empty name.
  void count_replica(const std::string& owner, std::size_t row) { replicas_.add(owner, row); }
  void uncount_replica(const std::string& owner, std::size_t row) { replicas_.remove(owner, row); }

  // Updates the ages of all rows, or of these, for `now`.
  void report_ages(MonoTime now);
  void report_ages(std::span<const std::size_t> rows, MonoTime now);
  // Sets same_app_pods of each row for a pod of this application. The pod itself, in row `itself`, does not count.
  void report_same_app(const std::string& app, std::optional<std::size_t> itself);
  // Sets owner_pods of each row for a pod of this owner. The pod itself, in row `itself`, does not count.
  void report_replicas(const std::string& owner, std::optional<std::size_t> itself);
  void report_time(MonoTime now, std::size_t pending_pods);
  const placement::ClusterView& view() const { return view_; }
  const placement::NodeView& operator[](std::size_t row) const { return view_.nodes[row]; }

 private:
  void report_age(std::size_t row, MonoTime now);

  placement::ClusterView view_;
  std::vector<std::optional<MonoTime>> sampled_at_;          // by row, from the node's last sample
  std::vector<std::size_t> same_app_;                        // rows with counts for the current application
  std::vector<std::size_t> same_owner_;                      // rows with counts for the current owner
  std::vector<std::pair<std::size_t, MonoTime>> free_rows_;  // of removed nodes, with the time of removal
  CountsByRow bound_;                                        // by application
  CountsByRow replicas_;                                     // by owner
};

}  // namespace wattle::controller
