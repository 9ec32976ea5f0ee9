#include "controller/store/decision_table.hpp"

#include <algorithm>
#include <utility>

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {
namespace {

constexpr std::uint64_t kRowOverhead = 64;  // per row and its index entry
constexpr std::int64_t kTrimAtOnce = 4096;  // highest number of rows that one transaction drops

std::uint64_t cost(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) + kRowOverhead; }
std::int64_t as_column(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::int64_t hash_of(std::uint64_t id, std::string_view body, std::string_view rest) {
  std::string both(body);
  both.append(rest);
  return sqlite::record_hash({id, body.size()}, both);
}

}  // namespace

Result<DecisionTable> DecisionTable::open_(sqlite::Database& database, const DecisionBounds& bounds) {
  DecisionTable table(database, bounds);
  const auto ready = [&](std::optional<sqlite::Statement>& out, const char* sql) -> Status {
    WATTLE_TRY(out, database.prepare(sql));
    return {};
  };
  WATTLE_CHECK(ready(table.put_, "INSERT OR REPLACE INTO decision VALUES(?,?,?,?,?)"));
  WATTLE_CHECK(ready(table.size_of_, "SELECT length(body) + length(rest) FROM decision WHERE id = ?"));
  WATTLE_CHECK(ready(table.oldest_, "SELECT id, at_s, length(body) + length(rest) FROM decision ORDER BY id LIMIT ?"));
  WATTLE_CHECK(ready(table.drop_, "DELETE FROM decision WHERE id <= ?"));
  WATTLE_CHECK(
      ready(table.newest_, "SELECT id, at_s, hash, body, rest FROM decision WHERE at_s >= ? ORDER BY id DESC LIMIT ?"));
  WATTLE_CHECK(ready(table.count_, "SELECT count(*) FROM decision WHERE at_s >= ?"));
  WATTLE_TRY(const auto last, database.integer("SELECT coalesce(max(id), 0) FROM decision"));
  WATTLE_TRY(const auto rows, database.integer("SELECT count(*) FROM decision"));
  WATTLE_TRY(const auto bytes, database.integer("SELECT coalesce(sum(length(body) + length(rest)), 0) FROM decision"));
  table.last_id_ = static_cast<std::uint64_t>(last);
  table.rows_ = static_cast<std::uint64_t>(rows);
  table.bytes_ = static_cast<std::uint64_t>(bytes) + table.rows_ * kRowOverhead;
  return table;
}

Status DecisionTable::put(std::span<const DecisionRow> rows, std::int64_t now_s) {
  if (bounds_.max_bytes == 0) return {};
  const std::uint64_t rows_before = rows_, bytes_before = bytes_, last_before = last_id_;
  const auto all = [&]() -> Status {
    WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
    for (const DecisionRow& row : rows) WATTLE_CHECK(put_one(row));
    WATTLE_CHECK(trim(now_s));
    return transaction.commit();
  };
  const Status done = all();
  if (!done) {
    rows_ = rows_before;
    bytes_ = bytes_before;
    last_id_ = last_before;
  }
  return done;
}

Status DecisionTable::put_one(const DecisionRow& row) {
  size_of_->bind(1, as_column(row.id));
  WATTLE_TRY(const bool there, size_of_->step());
  if (there) {
    bytes_ -= std::min(bytes_, cost(size_of_->integer(0)));
    --rows_;
  }
  size_of_->reset();
  put_->bind(1, as_column(row.id));
  put_->bind(2, row.at_s);
  put_->bind(3, hash_of(row.id, row.body, row.rest));
  put_->bind(4, std::string_view(row.body));
  put_->bind_text(5, row.rest);
  WATTLE_CHECK(put_->run());
  ++rows_;
  bytes_ += cost(as_column(row.body.size() + row.rest.size()));
  last_id_ = std::max(last_id_, row.id);
  return {};
}

Status DecisionTable::trim(std::int64_t now_s) {
  oldest_->bind(1, kTrimAtOnce);
  std::optional<std::uint64_t> below;
  for (;;) {
    WATTLE_TRY(const bool row, oldest_->step());
    if (!row || (bytes_ <= bounds_.max_bytes && oldest_->integer(1) >= now_s - bounds_.keep_s)) break;
    below = static_cast<std::uint64_t>(oldest_->integer(0));
    bytes_ -= std::min(bytes_, cost(oldest_->integer(2)));
    --rows_;
  }
  oldest_->reset();
  if (!below) return {};
  drop_->bind(1, as_column(*below));
  return drop_->run();
}

Result<DecisionPage> DecisionTable::newest(std::int64_t since_s, std::size_t most) {
  DecisionPage page;
  count_->bind(1, since_s);
  WATTLE_TRY(const bool counted, count_->step());
  if (counted) page.kept = static_cast<std::uint64_t>(count_->integer(0));
  count_->reset();
  newest_->bind(1, since_s);
  newest_->bind(2, as_column(most));
  for (;;) {
    WATTLE_TRY(const bool row, newest_->step());
    if (!row) break;
    DecisionRow found{static_cast<std::uint64_t>(newest_->integer(0)), newest_->integer(1),
                      std::string(newest_->blob(3)), std::string(newest_->blob(4))};
    if (hash_of(found.id, found.body, found.rest) == newest_->integer(2)) page.rows.push_back(std::move(found));
  }
  newest_->reset();
  return page;
}

}  // namespace wattle::controller
