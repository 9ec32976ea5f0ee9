// database: one SQLite file that this process alone uses: statements, transactions, migrations.
// Source   libsqlite3; write-ahead log, synchronous=FULL: what was committed outlives a power cut
// Mode     0600, and so is its log
// Errors   name the file and the mend: exhausted (disk full), malformed (damaged, or no file at all), conflict (another process has it),
//          denied, unsupported (written by a newer version), io
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace wattle::sqlite {

struct DatabaseOptions {
  int page_bytes = 4096;  // of a file that is made anew
  std::int64_t cache_kib = 256;
  bool quick_check = false;  // at the opening leave out whether indexes agree with their tables: takes half the time
  std::string vfs;           // empty: the system's; tests bring their own
};

class Database;

// A prepared statement. Parameters count from 1 and columns from 0, as SQLite has them.
class Statement {
 public:
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view blob);       // not copied: must live until the next reset()
  void bind_text(int parameter, std::string_view text);  // likewise
  // True: a row is there.
  Result<bool> step();
  // Steps to the end and resets.
  Status run();
  void reset();
  std::int64_t integer(int column) const;
  std::string_view blob(int column) const;  // until the next step()

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const Database& database) : statement_(statement), database_(&database) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const Database* database_;
};

class Database {
 public:
  // Opens or makes the file, takes it for this process, and looks for damage. `steps[i]` is the SQL that leads from
  // schema version i to i+1; the version is kept in the file's user_version.
  static Result<std::unique_ptr<Database>> open_(const std::string& path, const DatabaseOptions& options,
                                                 std::span<const char* const> steps);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status run(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // Moves what the log holds into the file, so that the log begins anew.
  Status checkpoint();
  // The same, and the log gives its space back to the disk.
  Status empty_log();
  // Pages that were written to the log since the file was opened.
  std::uint64_t pages_written() const;
  std::uint64_t page_count();
  // Of them those that hold something; the others are taken first when something is added.
  std::uint64_t pages_in_use();
  // The first column of the first row; 0 if there is none.
  Result<std::int64_t> integer(const std::string& sql);
  std::uint64_t page_bytes() const { return page_bytes_; }
  const std::string& path() const { return path_; }
  Error error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  friend class Copy;
  explicit Database(std::string path) : path_(std::move(path)) {}
  // A file without log and schema, for what another's content comes into.
  static Result<std::unique_ptr<Database>> make_bare(const std::string& path);
  Status set_up(const DatabaseOptions& options);
  Status check(bool quick);
  Status migrate(std::span<const char* const> steps);

  std::string path_;
  std::uint64_t page_bytes_ = 0;
  std::unique_ptr<sqlite3, Close> database_;
};

// BEGIN now, ROLLBACK on destruction unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace wattle::sqlite
