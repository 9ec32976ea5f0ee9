// sleep_table: stores the nodes that operators exclude from sleep and the state of the sleep plan, which survive a
// restart.
// Source   the store's file
// Promise  exclude() and keep_plan() are on disk when they return
// Format   the plan's state is placement/sleep/demand_outlook's, packed; docs/reference/files.md has the tables
// Bounds   kMostExclusions, the oldest are dropped; one row of the plan
// Units    Unix seconds
// Errors   as common/sqlite/database.hpp; a plan with a wrong hash is as if there were none
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/sqlite/database.hpp"

namespace wattle::controller {

class SleepTable {
 public:
  static constexpr std::int64_t kMostExclusions = 8192;
  // `database` must outlive the table and contain it.
  static Result<SleepTable> open_(sqlite::Database& database);
  // An empty `why` ends the exclusion.
  Status exclude(const std::string& node, const std::string& why, std::int64_t now_s);
  // Returns the reasons by node.
  Result<std::map<std::string, std::string>> exclusions();
  Status keep_plan(const std::string& body, std::int64_t now_s);
  // Returns an empty text if there is none.
  Result<std::string> plan();

 private:
  explicit SleepTable(sqlite::Database& database) : database_(&database) {}

  sqlite::Database* database_;
  std::optional<sqlite::Statement> exclude_, allow_, trim_, keep_plan_;
};

}  // namespace wattle::controller
