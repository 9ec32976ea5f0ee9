// sleep_table: stores the nodes that operators exclude from sleep, the state of the sleep plan, and the power records
// and transitions of nodes that sleep. All of them survive a restart.
// Source   the store's file
// Promise  exclude(), keep_plan() and keep() are on disk when they return
// Format   the plan's state is placement/sleep/demand_outlook's, packed, as are records; docs/reference/files.md has
//          the tables
// Bounds   kMostExclusions, the oldest are dropped; one row of the plan; records and transitions as in
//          controller/power/power_store.hpp
// Units    Unix seconds, or nanoseconds in at_ns
// Errors   as common/sqlite/database.hpp; a plan or sums with a wrong hash count as missing, and a record with one is
//          unset
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/sqlite/database.hpp"
#include "controller/power/power_store.hpp"

namespace wattle::controller {

// Detects damage of a plan, a record or sums.
std::int64_t plan_hash(std::string_view body);

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
  // All rows, or none. A record must be set.
  Status keep(const power::PowerRows& rows);
  Result<power::PowerRows> power_rows();

 private:
  explicit SleepTable(sqlite::Database& database) : database_(&database) {}

  sqlite::Database* database_;
  std::optional<sqlite::Statement> exclude_, allow_, trim_, keep_plan_, keep_record_, keep_step_, trim_steps_,
      keep_sums_;
};

}  // namespace wattle::controller
