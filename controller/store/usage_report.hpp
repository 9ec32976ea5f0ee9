// usage_report: what namespaces, owners, nodes, values of a label or containers used from a time on, what has ended included.
// Law      rows, idle, unattributed and missing of all nodes add up to what the nodes drew, measured and estimated each. Missing is 0
//          unless parts of a sample never came. Rows of a pod's containers and its rest add up to what the pod used
// Units    as usage_table.hpp
// Threads  values; UsageReporter: one
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/store/ledger_buffer.hpp"

namespace wattle::controller {

struct PodFacts;

enum class ReportBy { name_space, owner, node, label, container };

struct UsageQuery {
  std::int64_t since_s = 0;  // Unix
  ReportBy by = ReportBy::name_space;
  std::string label;  // its key
  // Of containers: those of this pod alone, by UID, name or namespace and name; the others' are one row.
  std::string pod;
};

struct UsageRow {
  LedgerSums used;
  std::uint64_t workloads = 0;   // that used anything
  std::uint64_t placements = 0;  // seen while the controller looked; a pod counts once, where it was placed last
};

struct UsageReport {
  std::int64_t from_s = 0;  // 0: nothing is recorded
  bool cut = false;         // of the time before from_s, that was asked for, nothing is recorded
  // "(...)" where nothing of that kind is known of a workload. Of containers "namespace/pod/container", with UID and id where no
  // names are known, and "namespace/pod/(rest)".
  std::map<std::string, UsageRow> rows;
  NodeUse nodes;
  std::map<std::string, NodeUse> by_node;  // of ReportBy::node alone
  Energy missing() const;
};

// The value of a key among "key=value" between commas.
std::optional<std::string_view> label_of(std::string_view labels, std::string_view key);

// Adds up what it is shown: first pods, then workloads and nodes.
class UsageReporter {
 public:
  // `nodes`: names by their number.
  UsageReporter(const UsageQuery& query, std::int64_t from_s, std::unordered_map<std::int64_t, std::string> nodes)
      : query_(query), from_s_(from_s), nodes_(std::move(nodes)) {}
  void take(const PodFacts& pod);
  void take(std::int64_t node, std::int64_t kind, std::string_view name, const LedgerSums& sums);
  void take(std::int64_t node, const NodeUse& use);
  // Once.
  UsageReport report() &&;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Workload {
    std::size_t row = 0;
    bool counted = false;
  };
  std::size_t row(std::string_view key);
  std::string key_of(const PodFacts& pod) const;
  std::string key_of(std::int64_t kind, std::string_view name) const;
  const std::string& node_name(std::int64_t node) const;
  // Of containers.
  struct NamedPod {
    std::string prefix;  // "namespace/pod/"; empty: not asked for
    std::string container_ids;
  };
  const NamedPod& named(std::string_view uid);
  void take_container(std::string_view name, const LedgerSums& sums);
  void settle_rests();

  UsageQuery query_;
  std::int64_t from_s_;
  std::unordered_map<std::int64_t, std::string> nodes_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> row_of_;
  std::vector<UsageRow> rows_;
  std::unordered_map<std::string, Workload, Hash, std::equal_to<>>
      workloads_;  // by name; of ReportBy::node by node and name
  std::unordered_map<std::string, NamedPod, Hash, std::equal_to<>> pods_;             // by UID
  std::unordered_map<std::string, LedgerSums, Hash, std::equal_to<>> of_containers_;  // by the pods' UIDs
  UsageReport report_;
};

}  // namespace wattle::controller
