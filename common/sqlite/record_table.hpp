// record_table: the file of the spool, which has encoded records in order and the gaps between them.
// Format   docs/reference/files.md; each body has a hash, because SQLite's pages have no checksum outside
//          the log
// Errors   as database.hpp
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/outbox.hpp"
#include "common/sqlite/database.hpp"

namespace wattle::sqlite {

struct StoredRecord {
  std::int64_t id = 0;  // rises with the mark
  RecordMark mark;
  std::uint64_t bytes = 0;
};

// Dropped records of one incarnation.
struct Gap {
  std::uint64_t incarnation = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  std::uint64_t records = 0;
  bool operator==(const Gap&) const = default;
};

// Changes made by one transaction.
struct TableChange {
  std::vector<std::pair<std::int64_t, std::int64_t>> remove;  // ranges of ids, ends included
  const std::vector<Gap>* gaps = nullptr;                     // the complete list, if it changed
  std::int64_t next_id = 1;                                   // id of the first added record
  std::span<const EncodedRecord> add;
};

// FNV-1a over both; detects damage, not tampering.
std::int64_t record_hash(const RecordMark& mark, std::string_view body);
struct HashedRecord {
  RecordMark mark;
  std::string_view body;
};
// The same for each record. Computes four at a time, because one alone waits for its own multiplications.
std::vector<std::int64_t> record_hashes(std::span<const HashedRecord> records);

struct SalvagedRecords {
  std::uint64_t kept = 0;
  // Between those kept, without the records that gaps already count; no value if SQLite could read none.
  std::optional<std::uint64_t> lost;
};

class RecordTable {
 public:
  static Result<RecordTable> open_(const std::string& path, const DatabaseOptions& options);
  // Copies the sound records and gaps of a damaged file into this empty table: the rows that SQLite can read, and
  // those that its pages hold if it cannot read them all.
  Result<SalvagedRecords> salvage(const std::string& damaged);

  Result<std::deque<StoredRecord>> list();
  Result<std::vector<Gap>> gaps();
  // Applies the whole change or none of it; durable when it returns.
  Status apply(const TableChange& change);
  struct Body {
    std::int64_t id = 0;
    std::string bytes;  // empty: damaged
  };
  // Reads the bodies with ids in [first, last], in order; after `most_bytes` it stops and sets `whole` to false.
  Result<std::vector<Body>> read(std::int64_t first, std::int64_t last, std::size_t most_bytes, bool& whole);
  Status checkpoint() { return database_->checkpoint(); }
  Database& database() { return *database_; }
  const Database& database() const { return *database_; }

 private:
  explicit RecordTable(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  Status replace_gaps(const std::vector<Gap>& gaps);
  Status insert(std::int64_t id, const EncodedRecord& record);
  Status adopt_pages(const std::string& damaged);
  Status remove_unsound(const std::optional<RecordMark>& complete_from, SalvagedRecords& out);

  std::unique_ptr<Database> database_;
  std::optional<Statement> insert_, remove_, read_;
};

}  // namespace wattle::sqlite
