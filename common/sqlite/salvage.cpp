#include "common/sqlite/salvage.hpp"

#include <memory>
#include <optional>

#include "common/dir.hpp"

namespace wattle::sqlite {
namespace {

class Copier {
 public:
  Copier(Database& from, Database& into, const SalvageTable& table) : from_(from), into_(into), table_(table) {}

  // Returns whether all rows were copied.
  Result<bool> copy() {
    const std::string name = table_.name;
    const auto columns = from_.integer("SELECT count(*) FROM pragma_table_info('" + name + "')");
    if (!columns) return false;
    if (*columns == 0) return true;  // a file of an older version has no such table
    std::string values = "?";
    for (std::int64_t column = 1; column < *columns; ++column) values += ",?";
    WATTLE_TRY(put_, into_.prepare("INSERT OR REPLACE INTO " + name + " VALUES(" + values + ")"));
    copy_ends("");
    if (incomplete_ && table_.is_number) copy_range(edge("min", 0), edge("max", std::int64_t{1} << 40));
    if (failed_) return tl::unexpected<Error>(*failed_);
    return !incomplete_;
  }
  bool copied_any() const { return copied_any_; }

 private:
  // Copies rows up to the first unreadable one. Returns false if there is one.
  bool take(const std::string& rest) {
    if (failed_ || attempts_ >= kMostAttempts) return true;  // ends the search
    ++attempts_;
    auto rows = from_.prepare("SELECT * FROM " + std::string(table_.name) + rest);
    for (;;) {
      const Result<bool> row = rows ? rows->step() : forward_error(rows);
      if (!row) {
        incomplete_ = true;
        return false;
      }
      if (!*row) return true;
      put_->bind_row(*rows);
      const Status done = put_->run();
      copied_any_ = copied_any_ || done;
      if (!done && !is_refused(done.error())) {
        failed_ = done.error();
        return true;
      }
    }
  }

  // The new table refuses a row whose columns were damaged.
  bool is_refused(const Error& error) {
    incomplete_ = true;
    return error.code == Errc::io;
  }

  std::int64_t edge(const char* function, std::int64_t otherwise) {
    const auto found = from_.integer("SELECT " + std::string(function) + "(" + table_.key + ") FROM " + table_.name);
    return found ? *found : otherwise;
  }

  void copy_ends(const std::string& where) {
    if (take(where + " ORDER BY " + table_.key)) return;
    take(where + " ORDER BY " + table_.key + " DESC");
  }

  void copy_range(std::int64_t first, std::int64_t last) {
    if (first > last) return;
    const std::string key = table_.key;
    if (first == last) return copy_ends(" WHERE " + key + "=" + std::to_string(first));
    if (take(" WHERE " + key + " BETWEEN " + std::to_string(first) + " AND " + std::to_string(last))) return;
    const std::uint64_t half = (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)) / 2;
    const std::int64_t middle = first + static_cast<std::int64_t>(half);
    copy_range(first, middle);
    copy_range(middle + 1, last);
  }

  Database& from_;
  Database& into_;
  const SalvageTable& table_;
  std::optional<Statement> put_;
  int attempts_ = 0;
  bool incomplete_ = false, copied_any_ = false;
  std::optional<Error> failed_;
};

}  // namespace

Result<Salvaged> salvage(Database& into, const std::string& damaged, std::span<const SalvageTable> tables) {
  WATTLE_CHECK(check_regular(damaged));  // SQLite would wait for the bytes of a FIFO
  WATTLE_TRY(const std::unique_ptr<Database> from, Database::open_damaged(damaged));
  Salvaged salvaged;
  WATTLE_TRY(auto transaction, Transaction::begin(into));
  for (const SalvageTable& table : tables) {
    Copier copier(*from, into, table);
    WATTLE_TRY(const bool whole, copier.copy());
    if (!whole) salvaged.incomplete.emplace_back(table.name);
    if (!copier.copied_any()) continue;  // the rows that a new file begins with are not copied
    WATTLE_TRY(const auto rows, into.integer("SELECT count(*) FROM " + std::string(table.name)));
    salvaged.rows += static_cast<std::uint64_t>(rows);
  }
  WATTLE_CHECK(transaction.commit());
  return salvaged;
}

}  // namespace wattle::sqlite
