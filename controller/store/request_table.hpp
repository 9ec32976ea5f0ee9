// request_table: what is known of workloads' needs, in the store's file, so that a restart forgets none of it.
// Promise  put() is one transaction; a row of a workload that is there replaces it
// Bounds   kMostRows, and kKeep_s by the wall clock since a row was written; the oldest go
// Format   a row's body is controller/provision/request_book's; docs/reference/store.md has the table
// Units    times are Unix seconds
// Errors   as common/sqlite/database.hpp; a row whose hash is wrong is left out
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/sqlite/database.hpp"

namespace wattle::controller {

struct RequestRow {
  std::string workload;  // "shop/Deployment/web"
  std::int64_t at_s = 0;
  std::string body;
  bool operator==(const RequestRow&) const = default;
};

class RequestTable {
 public:
  static constexpr std::int64_t kMostRows = 8192, kKeep_s = std::int64_t{14} * 86'400;
  // `database` outlives it and has the table.
  static Result<RequestTable> open_(sqlite::Database& database);
  Status put(std::span<const RequestRow> rows, std::int64_t now_s);
  // By workload.
  Result<std::vector<RequestRow>> all();
  // What they take of the file, roughly.
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit RequestTable(sqlite::Database& database) : database_(&database) {}
  Status measure();

  sqlite::Database* database_;
  std::optional<sqlite::Statement> put_, trim_old_, trim_many_;
  std::uint64_t bytes_ = 0;
};

}  // namespace wattle::controller
