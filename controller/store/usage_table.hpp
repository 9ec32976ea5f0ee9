// usage_table: what workloads and nodes used, by the hour, and whose workloads they are; in the store's file, for `wattle report`.
// Rows     of the hour that a node is in, workloads' sums are in columns of the ledger (slot_*); when the node's first record of another
//          hour is added up they become rows here. What nodes drew is added here at once. Both within the ledger's transactions, so
//          that each record is in them once, whoever is killed when
// Pods     by UID: namespace, owner, labels, what was asked for, when it was last placed, and when it ended
//          (confirmed workloads: also the unit, and the time limit); running() gives back those that run
// Bounds   as old as `keep_s` by the wall clock, and `max_bytes` of rows together: the oldest hours go, and pods of which nothing younger
//          is kept. Beyond one and a half of `max_bytes` no pods are added. Confirmed workloads that run are outside these bounds
// Units    energy in microjoules, times in microseconds; hours are Unix seconds at which they begin, of the controller's clock when it
//          received a record
// Format   docs/reference/store.md
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

// Whose a workload is.
struct PodFacts {
  std::string uid;            // as agents name the workload
  std::string name_space;     // empty: unknown, as is the next
  std::string owner;          // "Deployment/web"
  std::string labels;         // "key=value", sorted, between commas
  bool described = false;     // by an API server, whose word stands
  std::string node;           // where it was placed
  std::int64_t placed_s = 0;  // 0: nothing is said of that
  std::string app;  // as asked for, owner and images; empty: unknown, or nobody chooses where it goes (a DaemonSet's)
  std::int64_t cpu_millicores = 0, memory_bytes = 0;  // that it requests; told with `app`
  std::int64_t ended_s = 0;                           // 0: it runs, or nothing is said of that
  std::string name;                                   // empty: unknown, as is the next
  std::string container_ids;                          // which of its containers has which name (common/kube/pod.hpp)
  std::string replica_of;                             // "shop/ReplicaSet/web-5d9"; empty: unknown, or a pod of its own
  bool confirmed = false;                             // by an operator; told with the next two
  std::string unit;                                   // of its node, that it is; empty: none is known
  std::int64_t limit_s = 0;                           // when its time limit ends it; 0: never
  // What both say; the later one where they differ.
  void merge(PodFacts later);
  std::size_t bytes() const {
    return uid.size() + name_space.size() + owner.size() + labels.size() + node.size() + app.size() + name.size() +
           container_ids.size() + replica_of.size() + unit.size();
  }
  bool runs_confirmed() const { return confirmed && ended_s == 0; }
  bool operator==(const PodFacts&) const = default;
};

// A pod that was asked for: when it came and went, and what it used in which hours.
struct PodLife {
  PodFacts pod;
  std::int64_t last_s = 0;                                   // when it was last told of or used anything
  std::vector<std::pair<std::int64_t, std::int64_t>> hours;  // slot_s, CPU time in microseconds; ascending
};
struct NodeHour {
  std::int64_t slot_s = 0, node = 0;
  std::string name;
  NodeUse use;
};

class UsageTable {
 public:
  // `database` outlives it and has the tables, and the ledger.
  static Result<UsageTable> open_(sqlite::Database& database, const UsageBounds& bounds);
  bool kept() const { return bounds_.max_bytes > 0; }
  std::int64_t slot_of(std::int64_t at_s) const { return at_s - at_s % bounds_.slot_s; }
  // Where what comes then is counted: a clock that is set back to before all that is kept moves nothing out of it.
  std::int64_t slot_for(std::int64_t at_s) const { return slot_of(std::max(at_s, from_s_)); }

  // Within a transaction, before sums of the node are added to the ledger: what it has of another hour becomes rows.
  Status begin_slot(std::int64_t node, std::int64_t slot_s);
  Status add_node(std::int64_t node, std::int64_t slot_s, const NodeUse& use, std::int64_t since_s);
  // Likewise, of all ledger rows that `which` (SQL: what is to follow WHERE) names.
  Status close_rows(const std::string& which);
  // Likewise. The oldest hour goes if it is too old, or all is too much.
  Status trim(std::int64_t now_s);
  // After it: it was committed; or not.
  void settle(bool committed);

  // One transaction.
  Status put(std::span<const PodFacts> pods, std::int64_t now_s);
  // Since when all is kept; 0: nothing was recorded yet.
  std::int64_t from_s() const { return from_s_; }
  // All of hours that begin at `slot_s` or later; what waits to be written is not in them.
  Status each_pod(const std::function<void(const PodFacts&)>& take);
  // Pods that have not ended, as far as is known: all confirmed ones, and of the others the `most` that were told of last.
  Result<std::vector<PodFacts>> running(std::size_t most);
  using TakeSums = std::function<void(std::int64_t node, std::int64_t kind, std::string_view name, const LedgerSums&)>;
  Status each_workload(std::int64_t slot_s, const TakeSums& take);
  Status each_node(std::int64_t slot_s, const std::function<void(std::int64_t node, const NodeUse&)>& take);
  // Some of the pods that were asked for and placed, by UID from the one after `after` on, and whose time reaches `since_s`: at most `most`, and
  // kLifeHours hours of them. `next`: to go on after; empty: these were the last.
  static constexpr std::size_t kLifeHours = 50'000;
  struct Lives {
    std::vector<PodLife> pods;
    std::string next;
  };
  Result<Lives> lives(std::string_view after, std::int64_t since_s, std::size_t most);
  // UID and namespace of the pods whose namespace is known, at most `most`, those used last first.
  Result<std::vector<std::pair<std::string, std::string>>> pod_namespaces(std::size_t most);
  // Whole hours after (slot_s, node), by both.
  Result<std::vector<NodeHour>> node_hours(std::int64_t slot_s, std::int64_t node, std::size_t most);
  // What it takes of the file, roughly.
  std::uint64_t bytes() const { return bytes_; }

 private:
  UsageTable(sqlite::Database& database, const UsageBounds& bounds) : database_(&database), bounds_(bounds) {}
  Status prepare();
  Status load();
  // What rows of `table` take.
  Result<std::uint64_t> bytes_of(const std::string& table, const std::string& lengths, const std::string& which);
  Status drop_before(std::int64_t slot_s);
  Status keep_from(std::int64_t at_s);

  sqlite::Database* database_;
  UsageBounds bounds_;
  std::optional<sqlite::Statement> add_node_, set_from_, put_, size_of_;
  std::map<std::int64_t, std::int64_t> slots_,
      begun_;  // by node: of its sums in the ledger; of the transaction that is open
  std::uint64_t bytes_ = 0, bytes_before_ = 0;
  std::int64_t from_s_ = 0, from_before_s_ = 0;
};

}  // namespace wattle::controller
