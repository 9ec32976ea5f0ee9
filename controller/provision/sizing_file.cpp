#include "controller/provision/sizing_file.hpp"

#include <array>

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {
namespace {

constexpr std::array<const char*, 1> kSizingSteps{
    "CREATE TABLE owner(name TEXT PRIMARY KEY, hash INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID"};

std::int64_t sizing_hash(const SizingRow& row) {
  return sqlite::record_hash({row.owner.size(), row.body.size()}, row.owner + row.body);
}

}  // namespace

Result<SizingFile> SizingFile::open_(const std::string& path) {
  WATTLE_TRY(auto database, sqlite::Database::open_(path, {}, kSizingSteps));
  return SizingFile(std::move(database));
}

Status SizingFile::put(std::span<const SizingRow> rows) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_TRY(auto insert, database_->prepare("INSERT OR REPLACE INTO owner VALUES(?,?,?)"));
  WATTLE_TRY(auto remove, database_->prepare("DELETE FROM owner WHERE name = ?"));
  for (const SizingRow& row : rows) {
    const Status done =
        row.body.empty() ? remove.run(row.owner) : insert.run(row.owner, sizing_hash(row), sqlite::Blob{row.body});
    if (!done) return done;
  }
  return transaction.commit();
}

Result<std::vector<SizingRow>> SizingFile::all() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT name, hash, body FROM owner ORDER BY name"));
  std::vector<SizingRow> rows;
  WATTLE_CHECK(statement.each([&](const sqlite::Statement& at) {
    SizingRow row{std::string(at.blob(0)), std::string(at.blob(2))};
    if (sizing_hash(row) != at.integer(1)) row.body.clear();
    rows.push_back(std::move(row));
  }));
  return rows;
}

}  // namespace wattle::controller
