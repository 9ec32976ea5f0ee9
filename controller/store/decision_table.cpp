#include "controller/store/decision_table.hpp"

#include <algorithm>
#include <utility>

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {
namespace {

constexpr std::uint64_t kRowOverhead = 64;  // per row and its index entry
constexpr std::int64_t kTrimAtOnce = 4096;  // highest number of rows that one transaction drops

std::uint64_t cost(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) + kRowOverhead; }

}  // namespace

std::int64_t decision_hash(std::uint64_t id, std::string_view body, std::string_view rest) {
  std::string both(body);
  both.append(rest);
  return sqlite::record_hash({id, body.size()}, both);
}

Result<DecisionTable> DecisionTable::open_(sqlite::Database& database, const DecisionBounds& bounds) {
  DecisionTable table(database, bounds);
  WATTLE_TRY(table.put_, database.prepare("INSERT OR REPLACE INTO decision VALUES(?,?,?,?,?)"));
  WATTLE_TRY(table.size_of_, database.prepare("SELECT length(body) + length(rest) FROM decision WHERE id = ?"));
  WATTLE_TRY(table.oldest_, database.prepare("SELECT id, at_s, length(body) + length(rest) FROM decision"
                                             " ORDER BY id LIMIT ?"));
  WATTLE_TRY(table.drop_, database.prepare("DELETE FROM decision WHERE id <= ?"));
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
  size_of_->bind_all(row.id);
  WATTLE_TRY(const bool there, size_of_->step());
  if (there) {
    bytes_ -= std::min(bytes_, cost(size_of_->integer(0)));
    --rows_;
  }
  size_of_->reset();
  WATTLE_CHECK(
      put_->run(row.id, row.at_s, decision_hash(row.id, row.body, row.rest), sqlite::Blob{row.body}, row.rest));
  ++rows_;
  bytes_ += row.body.size() + row.rest.size() + kRowOverhead;
  last_id_ = std::max(last_id_, row.id);
  return {};
}

Status DecisionTable::trim(std::int64_t now_s) {
  oldest_->bind_all(kTrimAtOnce);
  std::optional<std::uint64_t> below;
  for (;;) {
    WATTLE_TRY(const bool row, oldest_->step());
    if (!row || (bytes_ <= bounds_.max_bytes && oldest_->integer(1) >= now_s - bounds_.keep_s)) break;
    below = static_cast<std::uint64_t>(oldest_->integer(0));
    bytes_ -= std::min(bytes_, cost(oldest_->integer(2)));
    --rows_;
  }
  oldest_->reset();
  return below ? drop_->run(*below) : Status();
}

Result<DecisionPage> DecisionTable::newest(std::int64_t since_s, std::size_t most) {
  DecisionPage page;
  WATTLE_TRY(const auto kept,
             database_->integer("SELECT count(*) FROM decision WHERE at_s >= " + std::to_string(since_s)));
  page.kept = static_cast<std::uint64_t>(kept);
  WATTLE_TRY(auto newest, database_->prepare("SELECT id, at_s, hash, body, rest FROM decision WHERE at_s >= ?"
                                             " ORDER BY id DESC LIMIT ?"));
  newest.bind_all(since_s, most);
  WATTLE_CHECK(newest.each([&](const sqlite::Statement& row) {
    DecisionRow found{static_cast<std::uint64_t>(row.integer(0)), row.integer(1), std::string(row.blob(3)),
                      std::string(row.blob(4))};
    if (decision_hash(found.id, found.body, found.rest) == row.integer(2)) page.rows.push_back(std::move(found));
  }));
  return page;
}

}  // namespace wattle::controller
