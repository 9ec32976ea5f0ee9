// decision_table: stores decisions and their outcomes in the store's file.
// Promise  put() is one transaction: all of its rows are in the file, synced, or none is; a row replaces the row with
//          the same id
// Bounds   age up to `keep_s` by the wall clock and `max_bytes` of rows in total; the oldest are dropped
// Format   a row's body and rest are decision_row.hpp's; docs/reference/files.md has the table
// Units    times are Unix seconds of the decision
// Errors   as common/sqlite/database.hpp; a row with a wrong hash is skipped
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/sqlite/database.hpp"

namespace wattle::controller {

struct DecisionRow {
  std::uint64_t id = 0;
  std::int64_t at_s = 0;
  std::string body, rest;
  bool operator==(const DecisionRow&) const = default;
};

struct DecisionBounds {
  std::int64_t keep_s = 30 * 86'400;
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
};

struct DecisionPage {
  std::vector<DecisionRow> rows;  // newest first
  std::uint64_t kept = 0;         // rows in the period, including those beyond the limit
};

// Detects damage of a row.
std::int64_t decision_hash(std::uint64_t id, std::string_view body, std::string_view rest);

class DecisionTable {
 public:
  // `database` must outlive the table and contain it.
  static Result<DecisionTable> open_(sqlite::Database& database, const DecisionBounds& bounds);
  Status put(std::span<const DecisionRow> rows, std::int64_t now_s);
  // Returns up to `most` rows with at_s >= since_s.
  Result<DecisionPage> newest(std::int64_t since_s, std::size_t most);
  std::uint64_t last_id() const { return last_id_; }  // highest id ever written; 0: none
  std::uint64_t rows() const { return rows_; }
  // Approximate size in the file.
  std::uint64_t bytes() const { return bytes_; }

 private:
  DecisionTable(sqlite::Database& database, const DecisionBounds& bounds) : database_(&database), bounds_(bounds) {}
  Status put_one(const DecisionRow& row);
  Status trim(std::int64_t now_s);

  sqlite::Database* database_;
  DecisionBounds bounds_;
  std::optional<sqlite::Statement> put_, size_of_, oldest_, drop_;
  std::uint64_t last_id_ = 0, rows_ = 0, bytes_ = 0;
};

}  // namespace wattle::controller
