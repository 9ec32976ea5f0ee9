#include "controller/store/sleep_table.hpp"

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {
namespace {

std::int64_t plan_hash(std::string_view body) { return sqlite::record_hash({0, body.size()}, body); }

}  // namespace

Result<SleepTable> SleepTable::open_(sqlite::Database& database) {
  SleepTable table(database);
  WATTLE_TRY(table.exclude_, database.prepare("INSERT OR REPLACE INTO sleep_exclusion VALUES(?,?,?)"));
  WATTLE_TRY(table.allow_, database.prepare("DELETE FROM sleep_exclusion WHERE node = ?"));
  WATTLE_TRY(table.trim_, database.prepare("DELETE FROM sleep_exclusion WHERE node IN (SELECT node FROM sleep_exclusion"
                                           " ORDER BY at_s DESC, node LIMIT -1 OFFSET ?)"));
  WATTLE_TRY(table.keep_plan_, database.prepare("INSERT OR REPLACE INTO sleep_plan VALUES(1,?,?,?)"));
  return table;
}

Status SleepTable::exclude(const std::string& node, const std::string& why, std::int64_t now_s) {
  if (why.empty()) return allow_->run(node);
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_CHECK(exclude_->run(node, now_s, why));
  WATTLE_CHECK(trim_->run(kMostExclusions));
  return transaction.commit();
}

Result<std::map<std::string, std::string>> SleepTable::exclusions() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT node, why FROM sleep_exclusion"));
  std::map<std::string, std::string> found;
  WATTLE_CHECK(
      statement.each([&](const sqlite::Statement& at) { found[std::string(at.blob(0))] = std::string(at.blob(1)); }));
  return found;
}

Status SleepTable::keep_plan(const std::string& body, std::int64_t now_s) {
  return keep_plan_->run(now_s, plan_hash(body), sqlite::Blob{body});
}

Result<std::string> SleepTable::plan() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT hash, body FROM sleep_plan"));
  std::string body;
  WATTLE_CHECK(statement.each([&](const sqlite::Statement& at) {
    if (plan_hash(at.blob(1)) == at.integer(0)) body = std::string(at.blob(1));
  }));
  return body;
}

}  // namespace wattle::controller
