// usage_report: sums the usage of namespaces, owners, nodes, label values or containers since a given time, ended
// workloads included.
// Law      rows, idle, unattributed and missing of all nodes add up to the nodes' energy, for measured and estimated
//          energy separately. Missing is 0 unless parts of a sample were lost. The rows of a pod's containers and its
//          row "(rest)" add up to the pod's usage
// Units    as usage_table.hpp
// Threads  values; UsageReporter: single owner
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
  std::string label;  // key of the label
  // For containers: only those of this pod, by UID, name or namespace and name; all others form one row.
  std::string pod;
};

struct UsageRow {
  LedgerSums used;
  std::uint64_t workloads = 0;   // workloads with usage
  std::uint64_t placements = 0;  // observed placements; a pod counts once, at its last node
};

struct UsageReport {
  std::int64_t from_s = 0;  // 0: no usage is recorded
  bool cut = false;         // the requested time before from_s has no records
  // The key is "(...)" if a workload has no known value. For containers it is "namespace/pod/container", with UID and
  // id if names are unknown, and "namespace/pod/(rest)".
  std::map<std::string, UsageRow> rows;
  NodeUse nodes;
  std::map<std::string, NodeUse> by_node;  // for ReportBy::node only
  Energy missing() const;
};

// Returns the value of a key in a comma-separated list of "key=value".
std::optional<std::string_view> label_of(std::string_view labels, std::string_view key);

// Sums the rows passed to take(): pods first, then workloads and nodes.
class UsageReporter {
 public:
  // `nodes`: names by number.
  UsageReporter(const UsageQuery& query, std::int64_t from_s, std::unordered_map<std::int64_t, std::string> nodes)
      : query_(query), from_s_(from_s), nodes_(std::move(nodes)) {}
  void take(const PodFacts& pod);
  void take(std::int64_t node, std::int64_t kind, std::string_view name, const LedgerSums& sums);
  void take(std::int64_t node, const NodeUse& use);
  // Call once.
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
  // Row prefix and containers of a pod, for ReportBy::container.
  struct NamedPod {
    std::string prefix;  // "namespace/pod/"; empty: not requested
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
      workloads_;  // by name; for ReportBy::node by node and name
  std::unordered_map<std::string, NamedPod, Hash, std::equal_to<>> pods_;  // by UID
  // sums of their containers, by the pods' UIDs
  std::unordered_map<std::string, LedgerSums, Hash, std::equal_to<>> of_containers_;
  UsageReport report_;
};

}  // namespace wattle::controller
