#include "controller/store/request_table.hpp"

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {

std::int64_t request_hash(std::string_view workload, std::string_view body) {
  std::string both(workload);
  both.append(body);
  return sqlite::record_hash({workload.size(), body.size()}, both);
}

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
  for (const RequestRow& row : rows)
    WATTLE_CHECK(put_->run(row.workload, row.at_s, request_hash(row.workload, row.body), sqlite::Blob{row.body}));
  WATTLE_CHECK(trim_old_->run(now_s - kKeep_s));
  WATTLE_CHECK(trim_many_->run(kMostRows));
  WATTLE_CHECK(transaction.commit());
  return measure();
}

Result<std::vector<RequestRow>> RequestTable::all() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT workload, at_s, hash, body FROM request ORDER BY workload"));
  std::vector<RequestRow> rows;
  WATTLE_CHECK(statement.each([&](const sqlite::Statement& at) {
    RequestRow row{std::string(at.blob(0)), at.integer(1), std::string(at.blob(3))};
    if (request_hash(row.workload, row.body) == at.integer(2)) rows.push_back(std::move(row));
  }));
  return rows;
}

}  // namespace wattle::controller
