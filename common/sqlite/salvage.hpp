// salvage: copies the readable rows of a damaged database into another one of the same schema.
// Source   every page that SQLite can still read; a range of keys that it cannot read is halved until single keys
//          remain, at most kMostAttempts times
// Errors   those of database.hpp for `into`; a table that the damaged file lacks has no rows
// Threads  that of `into`
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/sqlite/database.hpp"

namespace wattle::sqlite {

inline constexpr int kMostAttempts = 20'000;

struct SalvageTable {
  const char* name;
  const char* key;        // first column of the primary key
  bool is_number = true;  // of the key
};

struct Salvaged {
  std::uint64_t rows = 0;
  std::vector<std::string> incomplete;  // tables with rows that cannot be read
};

// Overwrites rows of `into` that have the same primary key. All rows are copied in one transaction.
Result<Salvaged> salvage(Database& into, const std::string& damaged, std::span<const SalvageTable> tables);

}  // namespace wattle::sqlite
