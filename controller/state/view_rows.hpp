// view_rows: the ClusterView that placement/ decides on, row by row: whose row is whose, how old a row's telemetry is, and how many pods
//            of an application each has.
// Bounds   a row of a node that went rests for half an hour, for outcomes that are waited for there; then it may be another's
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
#include "placement/cluster_view.hpp"

namespace wattle::controller {

// Pods of each name in each row.
class CountsByRow {
 public:
  using Rows = std::map<std::size_t, std::uint64_t>;
  void add(const std::string& name, std::size_t row);
  void remove(const std::string& name, std::size_t row);
  // Null: none.
  const Rows* of(const std::string& name) const;

 private:
  std::unordered_map<std::string, Rows> rows_;
};

class ViewRows {
 public:
  // A row for the node, with nothing told of it; one that has rested, or a new one.
  std::size_t add(const std::string& node, MonoTime now);
  // It stays, as a node without a name that takes nothing: rows of others do not move.
  void retire(std::size_t row, MonoTime now);
  // To change it: who reads the view is told.
  placement::NodeView& change(std::size_t row) {
    view_.edition_of[row] = ++view_.edition;
    return view_.nodes[row];
  }
  void sampled(std::size_t row, MonoTime at) { sampled_at_[row] = at; }
  // Pods of the application that are bound to the row's node; an empty name counts nowhere.
  void count(const std::string& app, std::size_t row);
  void uncount(const std::string& app, std::size_t row);
  // Replicas of the owner that are bound to the row's node or in flight to it; an empty name counts nowhere.
  void count_replica(const std::string& owner, std::size_t row) { replicas_.add(owner, row); }
  void uncount_replica(const std::string& owner, std::size_t row) { replicas_.remove(owner, row); }

  // Ages for `now`: of every row, or of these.
  void tell_ages(MonoTime now);
  void tell_ages(std::span<const std::size_t> rows, MonoTime now);
  // same_app_pods of each row is as for a pod of this application, which itself is not counted where it is.
  void tell_same_app(const std::string& app, std::optional<std::size_t> itself);
  // owner_pods of each row is as for a pod of this owner, which itself is not counted where it is.
  void tell_replicas(const std::string& owner, std::optional<std::size_t> itself);
  void tell_time(MonoTime now, std::size_t pending_pods);
  const placement::ClusterView& view() const { return view_; }
  const placement::NodeView& operator[](std::size_t row) const { return view_.nodes[row]; }

 private:
  void tell_age(std::size_t row, MonoTime now);

  placement::ClusterView view_;
  std::vector<std::optional<MonoTime>> sampled_at_;  // by row, as its node has it
  std::vector<std::size_t> same_app_;                // rows in which the view counts pods of the application asked for
  std::vector<std::size_t> same_owner_;              // rows in which it counts replicas of the owner asked for
  std::vector<std::pair<std::size_t, MonoTime>> free_rows_;  // of nodes that went, since
  CountsByRow bound_;                                        // by application
  CountsByRow replicas_;                                     // by owner
};

}  // namespace wattle::controller
