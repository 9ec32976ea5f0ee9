// ledger_buffer: buffers sums per workload, and the energy of their node, so that a ledger row is written every half
// minute instead of with every record. A crash loses no data: buffered sums are also in raw records, which are summed
// again when the file is opened.
// Units    as the ledger (store_file.hpp); raw ids increase
// Threads  single owner
#pragma once

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
  std::int64_t wait_us = 0;      // time in which a task of the workload waited for a CPU
  std::int64_t pressure_us = 0;  // time for which wait_us was reported
  void add(const LedgerSums& more);
  bool operator==(const LedgerSums&) const = default;
};
// Kind of the rows of a pod's containers, in addition to WorkloadKind. Their name is the pod's, "/" and the container's
// id. Their usage is also in the pod's row, and never exceeds it.
inline constexpr std::int64_t kContainerRows = 4;

// Orders by kind and name, and looks up without creating a string.
struct LedgerOrder {
  using is_transparent = void;
  using Key = std::pair<std::int64_t, std::string_view>;
  bool operator()(const Key& a, const Key& b) const { return a < b; }
};
using LedgerRows = std::map<std::pair<std::int64_t, std::string>, LedgerSums, LedgerOrder>;

// Measured and estimated energy, kept separate.
struct Energy {
  std::int64_t energy_uj = 0, estimated_uj = 0;
  void add(const Energy& more);
  bool operator==(const Energy&) const = default;
};
// Energy of a node, and the parts that belong to no workload.
struct NodeUse {
  Energy drawn, idle, unattributed;
  void add(const NodeUse& more);
};

struct WaitingLedger {
  std::int64_t first_raw = 0, last_raw = 0;  // range of the node's raw records that are included
  std::int64_t since_s = 0, last_s = 0;
  LedgerRows rows;
  NodeUse use;
};

// Returns whether the ledger counts the record: a record without an interval adds nothing. Values that are not set
// count as 0.
bool counts(const Record& record);

class LedgerBuffer {
 public:
  void add(std::int64_t node, std::int64_t raw_id, const Record& record, std::int64_t now_s);
  // Returns the nodes whose rows should be written now, oldest first: all with a raw record below `below`, a few of
  // those that have waited for `every_s`, and more if there are too many rows.
  std::vector<std::int64_t> due(std::int64_t now_s, std::int64_t every_s, std::int64_t below) const;
  std::vector<std::int64_t> all() const;
  const WaitingLedger& of(std::int64_t node) const { return waiting_.at(node); }
  void forget(std::int64_t node);
  // Returns the lowest raw id that stays pending after these rows are written; `otherwise` if none does.
  std::int64_t lowest_without(const std::vector<std::int64_t>& written, std::int64_t otherwise) const;

 private:
  // `next`: the row that is probably meant; then the one after it.
  void add_row(WaitingLedger& waiting, LedgerRows::iterator& next, const LedgerOrder::Key& key, const LedgerSums& sums);

  std::map<std::int64_t, WaitingLedger> waiting_;        // by node
  std::map<std::int64_t, std::int64_t> node_by_raw_id_;  // by first_raw: the oldest first
  std::size_t rows_ = 0;
};

}  // namespace wattle::controller
