// request_table: stores the known needs of workloads in the store's file, so that they survive a restart.
// Promise  put() is one transaction; a row replaces the row of the same workload
// Bounds   kMostRows, and kKeep_s by the wall clock since a row was written; the oldest are dropped
// Format   a row's body is controller/provision/request_book's; docs/reference/files.md has the table
// Units    times are Unix seconds
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

struct RequestRow {
  std::string workload;  // "shop/Deployment/web"
  std::int64_t at_s = 0;
  std::string body;
  bool operator==(const RequestRow&) const = default;
};

// Detects damage of a row.
std::int64_t request_hash(std::string_view workload, std::string_view body);

class RequestTable {
 public:
  static constexpr std::int64_t kMostRows = 8192, kKeep_s = std::int64_t{14} * 86'400;
  // `database` must outlive the table and contain it.
  static Result<RequestTable> open_(sqlite::Database& database);
  Status put(std::span<const RequestRow> rows, std::int64_t now_s);
  // Returns all rows by workload.
  Result<std::vector<RequestRow>> all();
  // Approximate size in the file.
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit RequestTable(sqlite::Database& database) : database_(&database) {}
  Status measure();

  sqlite::Database* database_;
  std::optional<sqlite::Statement> put_, trim_old_, trim_many_;
  std::uint64_t bytes_ = 0;
};

}  // namespace wattle::controller
