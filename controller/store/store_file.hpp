// store_file: the controller's file: each node's highest stored record number, the ledger sums of all records, and the
// latest raw records.
// Promise  apply() is one transaction: marks, ledger, gaps and raw records of a batch are all in the file, synced, or
//          none is. Records at or below the marks are skipped, so that a repeated batch has no effect
// Ledger   rows are written up to `ledger_every_s` after their raw records (ledger_buffer.hpp), which are kept until
//          then. Opening a file adds the sums that were not written
// Format   docs/reference/files.md; store_schema migrates each version to the next
// Bounds   raw records: age up to `keep`, and `max_bytes` for the file without decisions, usage and requests; the
//          oldest are dropped. Ledger rows, gaps and events: by number. Decisions, usage and requests have their own
//          bounds (decision_table.hpp, usage_table.hpp, request_table.hpp). Dropped ledger rows and gaps stay in the
//          sums of their node
// Units    energy in integer microjoules, measured and estimated separately; times are Unix seconds of the controller
// Errors   as common/sqlite/database.hpp
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/sqlite/copy.hpp"
#include "common/sqlite/database.hpp"
#include "controller/store/decision_table.hpp"
#include "controller/store/ledger_buffer.hpp"
#include "controller/store/record_store.hpp"
#include "controller/store/request_table.hpp"
#include "controller/store/sleep_table.hpp"
#include "controller/store/usage_report.hpp"
#include "controller/store/usage_table.hpp"

namespace wattle::controller {

struct StoreFileOptions {
  std::string path;
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  std::int64_t keep_s = 3600;
  std::int64_t max_ledger_rows = 100'000;
  std::int64_t max_gap_rows = 10'000;
  std::int64_t ledger_every_s = 30;
  DecisionBounds decisions;
  UsageBounds usage;
  sqlite::DatabaseOptions database{.cache_kib = 16 << 10, .quick_check = true};
};

class StoreFile {
 public:
  static Result<StoreFile> open_(const StoreFileOptions& options);

  const StoreMarks& marks() const { return marks_; }
  // Call with increasing numbers per node and incarnation.
  Status apply(std::span<const StoreItem> items, std::int64_t now_s);
  // Raises marks. A new file takes the marks of the previous one.
  Status adopt(const StoreMarks& marks);
  // Lists damaged rows (store_repair.hpp); empty: none.
  Result<std::string> damaged_rows();
  // Writes all buffered ledger rows.
  Status write_ledger();
  Status note(const std::string& what, const std::string& detail, std::int64_t now_s);
  // Records that the wall clock was set by `by_s` since the last apply(), so that the age of earlier rows stays
  // correct.
  Status clock_set(std::int64_t by_s, std::int64_t now_s);
  // checkpoint() moves the log into the file; checkpoint_if_long() does so if the log is long.
  Result<sqlite::Copy> copy_to(const std::string& path) { return sqlite::Copy::begin(*database_, path); }
  Status checkpoint() { return database_->checkpoint(); }
  Status checkpoint_if_long();

  std::uint64_t file_bytes() { return database_->page_count() * database_->page_bytes(); }
  std::uint64_t raw_records() const { return static_cast<std::uint64_t>(next_raw_id_ - first_raw_id_); }
  DecisionTable& decisions() { return *decisions_; }
  UsageTable& usage() { return *usage_; }
  RequestTable& requests() { return *requests_; }
  SleepTable& sleeps() { return *sleeps_; }
  Result<std::vector<StoreGap>> gaps(std::int64_t newest);  // oldest first
  // Includes the buffered ledger rows.
  Result<UsageReport> report(const UsageQuery& query);

 private:
  friend struct StoreTables;  // with which tests read the tables
  explicit StoreFile(StoreFileOptions options) : options_(std::move(options)) {}
  Status load();
  Status load_clock_steps();
  Status load_ledger();
  Status prepare();
  Result<std::int64_t> node_id(const std::string& name);
  // Increments of a transaction for a node's sums.
  struct Added {
    std::int64_t records = 0, refused = 0, energy_uj = 0, estimated_uj = 0, idle_uj = 0, unattributed_uj = 0;
    void add(const StoreItem& item);
  };
  Status add_item(std::int64_t node, const StoreItem& item, std::int64_t hash, std::int64_t now_s);
  Status add_to_nodes(const std::map<std::int64_t, Added>& added, std::int64_t now_s);
  Status write_ledger(const std::vector<std::int64_t>& nodes, std::int64_t next_raw_id);
  Status add_gap(std::int64_t node, const StoreGap& gap, std::int64_t now_s);
  Status set_marks(const StoreMarks& changed, StoreMarks& after);
  // Returns the id below which raw records should be dropped.
  Result<std::int64_t> surplus(std::size_t added, std::int64_t now_s, std::int64_t first_added);
  Status trim_tables(std::int64_t now_s);
  std::int64_t age_s(std::int64_t raw_id, std::int64_t received_s, std::int64_t now_s) const;

  StoreFileOptions options_;
  std::unique_ptr<sqlite::Database> database_;
  std::optional<sqlite::Statement> add_node_, add_sums_, add_raw_, add_ledger_, add_gap_, count_gap_, set_mark_,
      drop_mark_, oldest_raw_, drop_raw_, set_written_, set_progress_;
  std::optional<DecisionTable> decisions_;
  std::optional<UsageTable> usage_;
  std::optional<RequestTable> requests_;
  std::optional<SleepTable> sleeps_;
  std::unordered_map<std::string, std::int64_t> node_ids_;
  std::vector<std::string> new_nodes_;  // in the open transaction
  StoreMarks marks_;
  LedgerBuffer ledger_;
  std::int64_t next_node_id_ = 1, first_raw_id_ = 1, next_raw_id_ = 1;
  struct ClockStep {
    std::int64_t before_raw_id, by_s;
  };
  std::vector<ClockStep> clock_steps_;  // kept as long as earlier records exist
  std::uint64_t pages_at_checkpoint_ = 0, applied_ = 0;
};

}  // namespace wattle::controller
