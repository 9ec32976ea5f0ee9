#include "controller/store/control_file.hpp"

#include <array>
#include <cmath>

namespace wattle::controller {
namespace {

constexpr std::array<const char*, 1> kControlSteps{
    "CREATE TABLE change(id INTEGER PRIMARY KEY, at_s INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,"
    " why TEXT NOT NULL, standing TEXT NOT NULL, experiment INTEGER NOT NULL, configured TEXT NOT NULL);"
    "CREATE TABLE block(id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, number INTEGER NOT NULL,"
    " treated INTEGER NOT NULL, seen_us INTEGER NOT NULL, energy_uj INTEGER NOT NULL, core_us INTEGER NOT NULL,"
    " node_us INTEGER NOT NULL, watched_us INTEGER NOT NULL, decisions INTEGER NOT NULL,"
    " modelled_us INTEGER NOT NULL, modelled_uj INTEGER NOT NULL, modelled_acting_uj INTEGER NOT NULL);"
    "CREATE INDEX block_of ON block(experiment);"
    "CREATE TABLE monitor(name TEXT PRIMARY KEY, experiment INTEGER NOT NULL, at_s INTEGER NOT NULL,"
    " state TEXT NOT NULL)"};
constexpr double kMicro = 1e6;
constexpr double kHour_s = 3600;

std::int64_t micro(double value) {
  constexpr double kMost = 9e18;
  const double scaled = value * kMicro;
  return std::isfinite(scaled) && scaled > 0 ? static_cast<std::int64_t>(std::min(scaled, kMost)) : 0;
}
double unit(std::int64_t value) { return static_cast<double>(value) / kMicro; }

// Truncates the log after each of the few writes. If that fails, committed changes stay, and the next call retries.
void empty_log(sqlite::Database& database) { static_cast<void>(database.checkpoint().has_value()); }

}  // namespace

std::span<const char* const> control_steps() { return kControlSteps; }

Result<ControlFile> ControlFile::open_(const std::string& path) {
  WATTLE_TRY(auto database, sqlite::Database::open_(path, {}, kControlSteps));
  return ControlFile(std::move(database));
}

Status ControlFile::add(Change& change) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_TRY(const auto last, database_->integer("SELECT coalesce(max(id), 0) FROM change"));
  change.id = last + 1;
  if (change.experiment == 0) change.experiment = change.id;
  WATTLE_TRY(auto insert, database_->prepare("INSERT INTO change VALUES(?,?,?,?,?,?,?,?)"));
  WATTLE_CHECK(insert.run(change.id, change.at_s, change.who, change.what, change.why, change.standing,
                          change.experiment, change.configured));
  // Keeps the last change with a spec, regardless of the number of later entries.
  WATTLE_CHECK(database_->run("DELETE FROM change WHERE id <= " + std::to_string(change.id - kMaxChanges) +
                              " AND id < (SELECT max(id) FROM change WHERE standing <> '')"));
  WATTLE_CHECK(transaction.commit());
  empty_log(*database_);
  return {};
}

Status ControlFile::add(std::int64_t experiment, const BlockResult& block) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_TRY(auto insert,
             database_->prepare("INSERT INTO block(experiment, number, treated, seen_us, energy_uj, core_us, node_us,"
                                " watched_us, decisions, modelled_us, modelled_uj, modelled_acting_uj)"
                                " VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"));
  WATTLE_CHECK(insert.run(experiment, block.number, block.treated, micro(block.seen_s), micro(block.energy_j),
                          micro(block.core_h * kHour_s), micro(block.node_s), micro(block.watched_node_s),
                          block.decisions, micro(block.modelled_s), micro(block.modelled_j),
                          micro(block.modelled_acting_j)));
  WATTLE_CHECK(
      database_->run("DELETE FROM block WHERE id <= (SELECT max(id) FROM block) - " + std::to_string(kMaxBlocks)));
  WATTLE_CHECK(transaction.commit());
  empty_log(*database_);
  return {};
}

Status ControlFile::keep(std::int64_t experiment, std::int64_t at_s, std::span<const MonitorState> states) {
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_CHECK(database_->run("DELETE FROM monitor"));
  WATTLE_TRY(auto insert, database_->prepare("INSERT INTO monitor VALUES(?,?,?,?)"));
  for (const MonitorState& state : states) WATTLE_CHECK(insert.run(state.name, experiment, at_s, state.text));
  WATTLE_CHECK(transaction.commit());
  empty_log(*database_);
  return {};
}

Result<std::vector<MonitorState>> ControlFile::monitors(std::int64_t experiment) {
  return database_->select<MonitorState>(
      "SELECT name, state FROM monitor WHERE experiment = ? ORDER BY name",
      [](const sqlite::Statement& row) {
        return MonitorState{std::string(row.blob(0)), std::string(row.blob(1))};
      },
      experiment);
}

Result<std::vector<Change>> ControlFile::select(const std::string& where, std::int64_t limit) {
  return database_->select<Change>("SELECT id, at_s, who, what, why, standing, experiment, configured FROM change " +
                                       where + " ORDER BY id DESC LIMIT " + std::to_string(limit),
                                   [](const sqlite::Statement& row) {
                                     const auto text = [&](int column) { return std::string(row.blob(column)); };
                                     return Change{row.integer(0), row.integer(1), text(2),        text(3),
                                                   text(4),        text(5),        row.integer(6), text(7)};
                                   });
}

Result<std::vector<Change>> ControlFile::changes(std::int64_t newest) { return select("", newest); }

Result<std::optional<Change>> ControlFile::last() { return before(INT64_MAX); }

Result<std::optional<Change>> ControlFile::before(std::int64_t id) {
  WATTLE_TRY(const auto found, select("WHERE standing <> '' AND id < " + std::to_string(id), 1));
  return found.empty() ? std::optional<Change>() : found.front();
}

Result<std::vector<BlockResult>> ControlFile::blocks(std::int64_t experiment) {
  WATTLE_TRY(auto all, blocks_where("experiment = " + std::to_string(experiment)));
  return all.empty() ? std::vector<BlockResult>() : std::move(all.front().blocks);
}

Result<std::vector<CanaryOf>> ControlFile::canaries(std::int64_t newest_blocks) {
  return blocks_where("id > (SELECT max(id) FROM block) - " + std::to_string(newest_blocks));
}

// Returns experiments in the order of their first blocks.
Result<std::vector<CanaryOf>> ControlFile::blocks_where(const std::string& which) {
  WATTLE_TRY(auto statement,
             database_->prepare("SELECT experiment, number, treated, seen_us, energy_uj, core_us, node_us, watched_us,"
                                " decisions, modelled_us, modelled_uj, modelled_acting_uj FROM block WHERE " +
                                which + " ORDER BY id"));
  std::vector<CanaryOf> all;
  WATTLE_CHECK(statement.each([&](const sqlite::Statement& row) {
    const std::int64_t experiment = row.integer(0);
    if (all.empty() || all.back().experiment != experiment) all.push_back({experiment, {}, {}});
    all.back().blocks.push_back({static_cast<std::uint64_t>(row.integer(1)), row.integer(2) != 0, unit(row.integer(3)),
                                 unit(row.integer(4)), unit(row.integer(5)) / kHour_s, unit(row.integer(6)),
                                 unit(row.integer(7)), static_cast<std::uint64_t>(row.integer(8)), unit(row.integer(9)),
                                 unit(row.integer(10)), unit(row.integer(11))});
  }));
  for (CanaryOf& each : all) {
    WATTLE_TRY(const auto began, select("WHERE id = " + std::to_string(each.experiment), 1));
    if (!began.empty()) each.standing = began.front().standing;
  }
  return all;
}

}  // namespace wattle::controller
