// usage_table: hourly use of workloads and nodes, and the owners of workloads, in the store's file, for `wattle
// report`.
// Rows     workloads' sums of a node's current hour are in columns of the ledger (slot_*). They become rows here when
//          the node's first record of another hour is added. Nodes' energy is added here at once. Both happen within
//          the ledger's transactions, so that each record counts exactly once after any crash
// Pods     by UID: namespace, owner, labels, requests, time of the last placement, and end (confirmed workloads: also
//          unit and time limit); running() returns those that run
// Bounds   age `keep_s` by the wall clock, and `max_bytes` of all rows: the oldest hours are dropped, and pods that
//          have no later rows. Beyond one and a half of `max_bytes` no pods are added. Running confirmed workloads are
//          exempt
// Units    energy in microjoules, times in microseconds; hours are the Unix seconds of their beginning, by the
//          controller's clock when it received a record
// Format   docs/reference/files.md
// Errors   as common/sqlite/database.hpp
// Threads  single owner
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/sqlite/database.hpp"
#include "controller/store/ledger_buffer.hpp"

namespace wattle::controller {

struct UsageBounds {
  std::int64_t keep_s = std::int64_t{30} * 86'400;
  std::uint64_t max_bytes = std::uint64_t{64} << 20;  // 0: nothing is kept
  std::int64_t slot_s = 3600;
};

// Owner and placement of a workload.
struct PodFacts {
  std::string uid;            // as agents name the workload
  std::string name_space;     // empty: unknown, as is the next
  std::string owner;          // "Deployment/web"
  std::string labels;         // "key=value", sorted, between commas
  bool described = false;     // by an API server, which takes precedence
  std::string node;           // where it was placed
  std::int64_t placed_s = 0;  // 0: unknown
  std::string app;  // as asked for, owner and images; empty: unknown, or a DaemonSet's pod, which has one node only
  std::int64_t cpu_millicores = 0, memory_bytes = 0;  // that it requests; set with `app`
  std::int64_t ended_s = 0;                           // 0: it runs, or unknown
  std::string name;                                   // empty: unknown, as is the next
  std::string container_ids;                          // ids and names of its containers (common/kube/pod.hpp)
  std::string replica_of;                             // "shop/ReplicaSet/web-5d9"; empty: unknown, or no owner
  bool confirmed = false;                             // by an operator; set with the next two
  std::string unit;                                   // its unit on the node; empty: unknown
  std::int64_t limit_s = 0;                           // when its time limit ends it; 0: never
  // Merges `later` into this; `later` wins where they differ.
  void merge(PodFacts later);
  std::size_t bytes() const {
    return uid.size() + name_space.size() + owner.size() + labels.size() + node.size() + app.size() + name.size() +
           container_ids.size() + replica_of.size() + unit.size();
  }
  bool runs_confirmed() const { return confirmed && ended_s == 0; }
  bool operator==(const PodFacts&) const = default;
};

// A pod that was asked for, with its placement, its end and its hours of use.
struct PodLife {
  PodFacts pod;
  std::int64_t last_s = 0;                                   // when it was last reported or used anything
  std::vector<std::pair<std::int64_t, std::int64_t>> hours;  // slot_s, CPU time in microseconds; ascending
};
struct NodeHour {
  std::int64_t slot_s = 0, node = 0;
  std::string name;
  NodeUse use;
};

class UsageTable {
 public:
  // `database` must outlive the table and contain its tables and the ledger.
  static Result<UsageTable> open_(sqlite::Database& database, const UsageBounds& bounds);
  bool kept() const { return bounds_.max_bytes > 0; }
  std::int64_t slot_of(std::int64_t at_s) const { return at_s - at_s % bounds_.slot_s; }
  // Hour to which a record of that time counts. A clock set back to before all kept hours does not move usage out of
  // them.
  std::int64_t slot_for(std::int64_t at_s) const { return slot_of(std::max(at_s, from_s_)); }

  // Call within a transaction, before sums of the node are added to the ledger: turns its sums of another hour into
  // rows.
  Status begin_slot(std::int64_t node, std::int64_t slot_s);
  Status add_node(std::int64_t node, std::int64_t slot_s, const NodeUse& use, std::int64_t since_s);
  // The same for all ledger rows that `which` (SQL after WHERE) selects.
  Status close_rows(const std::string& which);
  // Call within a transaction: drops the oldest hour if it is too old or the table too large.
  Status trim(std::int64_t now_s);
  // Call after the transaction, with its result.
  void settle(bool committed);

  // Stores pods in one transaction.
  Status put(std::span<const PodFacts> pods, std::int64_t now_s);
  // Time since which everything is kept; 0: nothing was recorded yet.
  std::int64_t from_s() const { return from_s_; }
  // Visit all pods, or the sums of hours from `slot_s` on; data that waits to be written is missing.
  Status each_pod(const std::function<void(const PodFacts&)>& take);
  // Pods without a known end: all confirmed ones, and the `most` others that were reported last.
  Result<std::vector<PodFacts>> running(std::size_t most);
  using TakeSums = std::function<void(std::int64_t node, std::int64_t kind, std::string_view name, const LedgerSums&)>;
  Status each_workload(std::int64_t slot_s, const TakeSums& take);
  Status each_node(std::int64_t slot_s, const std::function<void(std::int64_t node, const NodeUse&)>& take);
  // A page of placed pods that were asked for, by UID after `after`, whose time reaches `since_s`: at most `most`, with
  // at most kLifeHours hours. `next`: where to continue; empty at the end.
  static constexpr std::size_t kLifeHours = 50'000;
  struct Lives {
    std::vector<PodLife> pods;
    std::string next;
  };
  Result<Lives> lives(const std::string& after, std::int64_t since_s, std::size_t most);
  // UID and namespace of the pods with a known namespace, at most `most`, the most recently used first.
  Result<std::vector<std::pair<std::string, std::string>>> pod_namespaces(std::size_t most);
  // Complete hours after (slot_s, node), ordered by both.
  Result<std::vector<NodeHour>> node_hours(std::int64_t slot_s, std::int64_t node, std::size_t most);
  // Approximate size in the file.
  std::uint64_t bytes() const { return bytes_; }

 private:
  UsageTable(sqlite::Database& database, const UsageBounds& bounds) : database_(&database), bounds_(bounds) {}
  Status prepare();
  Status load();
  // Size of rows of `table`.
  Result<std::uint64_t> bytes_of(const std::string& table, const std::string& lengths, const std::string& which);
  Status drop_before(std::int64_t slot_s);
  Status keep_from(std::int64_t at_s);

  sqlite::Database* database_;
  UsageBounds bounds_;
  std::optional<sqlite::Statement> add_node_, put_, size_of_;
  std::map<std::int64_t, std::int64_t> slots_,
      begun_;  // by node: of its sums in the ledger; of the transaction that is open
  std::uint64_t bytes_ = 0, bytes_before_ = 0;
  std::int64_t from_s_ = 0, from_before_s_ = 0;
};

}  // namespace wattle::controller
