#include "controller/store/sleep_table.hpp"

#include "common/sqlite/record_table.hpp"

namespace wattle::controller {

std::int64_t plan_hash(std::string_view body) { return sqlite::record_hash({0, body.size()}, body); }

namespace {

std::optional<placement::sleep::NodePowerRecord> record_in(std::string_view body, std::int64_t hash) {
  if (plan_hash(body) != hash) return std::nullopt;
  placement::PackReader in(body);
  placement::sleep::NodePowerRecord record;
  record.unpack(in);
  return in.done() ? std::optional(std::move(record)) : std::nullopt;
}

placement::sleep::PowerState state_in(std::int64_t number) {
  const auto known = static_cast<std::int64_t>(placement::sleep::kPowerStates.size());
  return number >= 0 && number < known ? placement::sleep::kPowerStates[static_cast<std::size_t>(number)]
                                       : placement::sleep::PowerState::unknown;
}

}  // namespace

Result<SleepTable> SleepTable::open_(sqlite::Database& database) {
  SleepTable table(database);
  WATTLE_TRY(table.exclude_, database.prepare("INSERT OR REPLACE INTO sleep_exclusion VALUES(?,?,?)"));
  WATTLE_TRY(table.allow_, database.prepare("DELETE FROM sleep_exclusion WHERE node = ?"));
  WATTLE_TRY(table.trim_, database.prepare("DELETE FROM sleep_exclusion WHERE node IN (SELECT node FROM sleep_exclusion"
                                           " ORDER BY at_s DESC, node LIMIT -1 OFFSET ?)"));
  WATTLE_TRY(table.keep_plan_, database.prepare("INSERT OR REPLACE INTO sleep_plan VALUES(1,?,?,?)"));
  WATTLE_TRY(table.keep_record_, database.prepare("INSERT OR REPLACE INTO sleep_node VALUES(?,?,?,?,?)"));
  WATTLE_TRY(table.keep_step_, database.prepare("INSERT INTO sleep_transition(at_ns, node, from_state, to_state,"
                                                " operation, reason) VALUES(?,?,?,?,?,?)"));
  WATTLE_TRY(table.trim_steps_, database.prepare("DELETE FROM sleep_transition WHERE id <= (SELECT max(id) FROM"
                                                 " sleep_transition) - ?"));
  WATTLE_TRY(table.keep_sums_, database.prepare("INSERT OR REPLACE INTO sleep_sums VALUES(1,?,?)"));
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

Status SleepTable::keep(const power::PowerRows& rows) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  for (const power::PowerRow& row : rows.nodes) {
    placement::PackWriter out;
    row.record->pack(out);
    const std::string body = out.take();
    WATTLE_CHECK(keep_record_->run(row.node, to_ns(row.record->since), plan_hash(body), sqlite::Blob{body},
                                   sqlite::Blob{row.hello}));
  }
  for (const power::SleepTransition& each : rows.transitions)
    WATTLE_CHECK(keep_step_->run(to_ns(each.at), each.node, static_cast<std::int64_t>(each.from),
                                 static_cast<std::int64_t>(each.to), static_cast<std::int64_t>(each.operation),
                                 each.reason));
  if (!rows.transitions.empty()) WATTLE_CHECK(trim_steps_->run(static_cast<std::int64_t>(power::kMostTransitions)));
  if (!rows.sums.empty()) WATTLE_CHECK(keep_sums_->run(plan_hash(rows.sums), sqlite::Blob{rows.sums}));
  return transaction.commit();
}

Result<power::PowerRows> SleepTable::power_rows() {
  power::PowerRows rows;
  WATTLE_TRY(auto nodes, database_->prepare("SELECT node, hash, record, hello FROM sleep_node"));
  WATTLE_CHECK(nodes.each([&](const sqlite::Statement& at) {
    rows.nodes.push_back({std::string(at.blob(0)), record_in(at.blob(2), at.integer(1)), std::string(at.blob(3))});
  }));
  WATTLE_TRY(auto steps, database_->prepare("SELECT at_ns, node, from_state, to_state, reason, operation FROM"
                                            " sleep_transition ORDER BY id"));
  WATTLE_CHECK(steps.each([&](const sqlite::Statement& at) {
    rows.transitions.push_back({wall_from_ns(at.integer(0)), std::string(at.blob(1)), state_in(at.integer(2)),
                                state_in(at.integer(3)), std::string(at.blob(4)),
                                static_cast<std::uint64_t>(at.integer(5))});
  }));
  WATTLE_TRY(auto sums, database_->prepare("SELECT hash, body FROM sleep_sums"));
  WATTLE_CHECK(sums.each([&](const sqlite::Statement& at) {
    if (plan_hash(at.blob(1)) == at.integer(0)) rows.sums = std::string(at.blob(1));
  }));
  return rows;
}

}  // namespace wattle::controller
