// ledger_buffer: sums per workload, and what their node drew, that wait to be written to the ledger, so that a row is written every ten seconds and not
// with every record. Nothing is lost with it: what waits is in raw records, which are added up again when the file is opened.
// Units    as the ledger (store_file.hpp); raw ids rise
// Threads  single owner
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/sample.hpp"
#include "controller/store/sums.hpp"

namespace wattle::controller {

struct LedgerSums {
  std::int64_t records = 0, energy_uj = 0, estimated_uj = 0, cpu_us = 0;
  std::int64_t wait_us = 0;      // in which a task of it waited for a CPU
  std::int64_t pressure_us = 0;  // in which that was told
  void add(const LedgerSums& more);
  bool operator==(const LedgerSums&) const = default;
};
// The kind of rows of a pod's containers, beside WorkloadKind. Their name is the pod's, "/" and the container's id; what they
// used is in the pod's row as well, and never more than that.
inline constexpr std::int64_t kContainerRows = 4;

// By kind and name; looked up without making a text of it.
struct LedgerOrder {
  using is_transparent = void;
  using Key = std::pair<std::int64_t, std::string_view>;
  bool operator()(const Key& a, const Key& b) const { return a < b; }
};
using LedgerRows = std::map<std::pair<std::int64_t, std::string>, LedgerSums, LedgerOrder>;

// Measured and estimated apart.
struct Energy {
  std::int64_t energy_uj = 0, estimated_uj = 0;
  void add(const Energy& more);
  bool operator==(const Energy&) const = default;
};
// What a node drew, and what of it is no workload's.
struct NodeUse {
  Energy drawn, idle, unattributed;
  void add(const NodeUse& more);
};

struct WaitingLedger {
  std::int64_t first_raw = 0, last_raw = 0;  // the node's raw records that are in it lie within
  std::int64_t since_s = 0, last_s = 0;
  LedgerRows rows;
  NodeUse use;
};

// A record's number as the store adds it up: absent is nothing, and a record without an interval has nothing to add.
bool counts(const Record& record);

class LedgerBuffer {
 public:
  void add(std::int64_t node, std::int64_t raw_id, const Record& record, std::int64_t now_s);
  // Whose rows are to be written now, oldest first: of everybody who waits for a raw record below `below`, of a few of those
  // that have waited for `every_s`, and more if there are too many rows.
  std::vector<std::int64_t> due(std::int64_t now_s, std::int64_t every_s, std::int64_t below) const;
  std::vector<std::int64_t> all() const;
  const WaitingLedger& of(std::int64_t node) const { return waiting_.at(node); }
  void forget(std::int64_t node);
  // The lowest raw id that waits when those are written; `otherwise` if none does.
  std::int64_t lowest_without(const std::vector<std::int64_t>& written, std::int64_t otherwise) const;

 private:
  void add_row(WaitingLedger& waiting, const LedgerOrder::Key& key, const LedgerSums& sums);

  std::map<std::int64_t, WaitingLedger> waiting_;        // by node
  std::map<std::int64_t, std::int64_t> node_by_raw_id_;  // by first_raw: who came first
  std::size_t rows_ = 0;
};

}  // namespace wattle::controller
