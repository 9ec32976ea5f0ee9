// store_repair: opens the store's file, and finds rows that the disk or another program has changed.
// Does     a file that SQLite cannot read is moved aside, and its readable rows are copied into a new one. Rows whose
//          bytes differ from those written are counted
// Promise  a damaged file never keeps the controller from starting, and no file is deleted that holds readable rows
// Errors   as common/sqlite/database.hpp
// Threads  the store's
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "common/result.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {

struct OpenedStore {
  StoreFile file;
  std::optional<Error> damage;  // of the file that was there before
};

Result<OpenedStore> open_or_repair(const StoreFileOptions& options, std::int64_t now_s, const Log& log);

// Lists damaged rows as "3 of raw, 1 of decision"; empty: none. Reads at most kMostChecked bytes of each table, the
// newest first.
inline constexpr std::uint64_t kMostChecked = std::uint64_t{256} << 20;
Result<std::string> damaged_rows(sqlite::Database& database);

}  // namespace wattle::controller
