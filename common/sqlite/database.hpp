// database: one SQLite file, used only by this process, with statements, transactions and migrations.
// Source   libsqlite3; write-ahead log, synchronous=FULL: committed data survives a power failure
// Mode     0600, also for its log
// Errors   name the file and the fix: exhausted (disk full), malformed (damaged, or not a file), conflict (another
//          process has it), denied, unsupported (written by a newer version), io
// Threads  single owner
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace wattle::sqlite {

struct DatabaseOptions {
  int page_bytes = 4096;  // for a new file
  std::int64_t cache_kib = 256;
  bool quick_check = false;  // skip the comparison of indexes with their tables when opening: takes half the time
  std::string vfs;           // empty: the system's; tests use their own
};

class Database;

// A parameter that is stored as bytes. Strings are stored as text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement. Parameters count from 1 and columns from 0, as in SQLite.
class Statement {
 public:
  // Binds all parameters. Texts and blobs are not copied: they must stay valid until the next reset().
  template <class... Values>
  void bind_all(Values&&... values) {
    int parameter = 0;
    (bind_one(++parameter, std::forward<Values>(values)), ...);
  }
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view blob);       // not copied: must stay valid until the next reset()
  void bind_text(int parameter, std::string_view text);  // not copied either
  // Binds the columns of the other statement's row, in their order; copies them.
  void bind_row(const Statement& row);
  // Returns true if there is a row.
  Result<bool> step();
  // Runs the statement to its end and resets it.
  Status run();
  // Does the same with these parameters.
  template <class... Values>
  Status run(const Values&... values) {
    bind_all(values...);
    return run();
  }
  // Calls `take` with this statement at each row, and resets it.
  template <class Take>
  Status each(const Take& take) {
    for (;;) {
      WATTLE_TRY(const bool row, step());
      if (!row) break;
      take(*this);
    }
    reset();
    return {};
  }
  void reset();
  std::int64_t integer(int column) const;
  std::string_view blob(int column) const;  // valid until the next step()

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const Database& database) : statement_(statement), database_(&database) {}
  void bind_one(int parameter, std::integral auto value) { bind(parameter, static_cast<std::int64_t>(value)); }
  void bind_one(int parameter, const std::string& text) { bind_text(parameter, text); }
  void bind_one(int parameter, std::string&& text) = delete;  // the temporary would end before the statement runs
  void bind_one(int parameter, const Blob& blob) { bind(parameter, blob.bytes); }
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const Database* database_;
};

class Database {
 public:
  // Opens or creates the file, locks it for this process and checks it for damage. `steps[i]` is the SQL that migrates
  // from schema version i to i+1; the file's user_version holds the version.
  static Result<std::unique_ptr<Database>> open_(const std::string& path, const DatabaseOptions& options,
                                                 std::span<const char* const> steps);
  // Opens a file that may be damaged, to read its readable rows. Checks and migrates nothing.
  static Result<std::unique_ptr<Database>> open_damaged(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status run(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // Returns what `take` makes of each row that the query returns with these parameters.
  template <class Row, class Take, class... Values>
  Result<std::vector<Row>> select(std::string_view sql, const Take& take, const Values&... values) {
    WATTLE_TRY(auto statement, prepare(sql));
    statement.bind_all(values...);
    std::vector<Row> rows;
    WATTLE_CHECK(statement.each([&](const Statement& at) { rows.push_back(take(at)); }));
    return rows;
  }
  // Moves the content of the log into the file, so that the log starts from its beginning.
  Status checkpoint();
  // Like checkpoint(), and truncates the log.
  Status empty_log();
  // Pages written to the log since the file was opened.
  std::uint64_t pages_written() const;
  std::uint64_t page_count();
  // Pages that hold data; new data fills the others first.
  std::uint64_t pages_in_use();
  // First column of the first row; 0 if there is none.
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
  static Result<std::unique_ptr<Database>> open_plain(const std::string& path);
  // Creates a file without log and schema, as the target of a copy.
  static Result<std::unique_ptr<Database>> make_bare(const std::string& path);
  Status set_up(const DatabaseOptions& options);
  Status check(bool quick);
  Status migrate(std::span<const char* const> steps);

  std::string path_;
  std::uint64_t page_bytes_ = 0;
  std::unique_ptr<sqlite3, Close> database_;
};

// Runs BEGIN at once, and ROLLBACK on destruction unless committed.
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
