#include "controller/store/request_table.hpp"

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {
namespace {

std::int64_t request_hash(std::string_view workload, std::string_view body) {
  std::string both(workload);
  both.append(body);
  return sqlite::record_hash({workload.size(), body.size()}, both);
}

}  // namespace

Result<RequestTable> RequestTable::open_(sqlite::Database& database) {
  RequestTable table(database);
  WATTLE_TRY(table.put_, database.prepare("INSERT OR REPLACE INTO request VALUES(?,?,?,?)"));
  WATTLE_TRY(table.trim_old_, database.prepare("DELETE FROM request WHERE at_s < ?"));
  WATTLE_TRY(table.trim_many_, database.prepare("DELETE FROM request WHERE workload IN (SELECT workload FROM request"
                                                " ORDER BY at_s DESC, workload LIMIT -1 OFFSET ?)"));
  WATTLE_CHECK(table.measure());
  return table;
}

Status RequestTable::measure() {
  constexpr std::int64_t kRowOverhead = 48;
  WATTLE_TRY(const auto bytes,
             database_->integer("SELECT coalesce(sum(length(workload) + length(body)), 0) FROM request"));
  WATTLE_TRY(const auto rows, database_->integer("SELECT count(*) FROM request"));
  bytes_ = static_cast<std::uint64_t>(bytes + kRowOverhead * rows);
  return {};
}

Status RequestTable::put(std::span<const RequestRow> rows, std::int64_t now_s) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  for (const RequestRow& row : rows) {
    put_->bind_text(1, row.workload);
    put_->bind(2, row.at_s);
    put_->bind(3, request_hash(row.workload, row.body));
    put_->bind(4, std::string_view(row.body));
    WATTLE_CHECK(put_->run());
  }
  trim_old_->bind(1, now_s - kKeep_s);
  WATTLE_CHECK(trim_old_->run());
  trim_many_->bind(1, kMostRows);
  WATTLE_CHECK(trim_many_->run());
  WATTLE_CHECK(transaction.commit());
  return measure();
}

Result<std::vector<RequestRow>> RequestTable::all() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT workload, at_s, hash, body FROM request ORDER BY workload"));
  std::vector<RequestRow> rows;
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return rows;
    RequestRow one{std::string(statement.blob(0)), statement.integer(1), std::string(statement.blob(3))};
    if (request_hash(one.workload, one.body) == statement.integer(2)) rows.push_back(std::move(one));
  }
}

}  // namespace wattle::controller
