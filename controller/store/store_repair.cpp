#include "controller/store/store_repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "common/sqlite/record_table.hpp"
#include "common/sqlite/salvage.hpp"
#include "controller/store/store_schema.hpp"
#include "controller/store/traces.hpp"

namespace wattle::controller {
namespace {

using sqlite::SalvageTable;
using sqlite::Statement;

constexpr std::array<SalvageTable, 17> kTables{{{"node", "id"},
                                                {"mark", "node"},
                                                {"ledger", "node"},
                                                {"raw", "id"},
                                                {"gap", "id"},
                                                {"event", "id"},
                                                {"progress", "id"},
                                                {"decision", "id"},
                                                {"usage", "slot_s"},
                                                {"usage_node", "slot_s"},
                                                {"pod", "uid", false},
                                                {"request", "workload", false},
                                                {"sleep_exclusion", "node", false},
                                                {"sleep_plan", "id"},
                                                {"sleep_node", "node", false},
                                                {"sleep_transition", "id"},
                                                {"sleep_sums", "id"}}};

// Rows of a node whose name cannot be read.
constexpr std::array kOfNodes{"mark", "ledger", "raw", "gap", "usage", "usage_node"};

Status fill(const StoreFileOptions& options, const std::string& damaged, sqlite::Salvaged& salvaged) {
  WATTLE_TRY(auto database, sqlite::Database::open_(options.path, options.database, store_steps()));
  WATTLE_TRY(salvaged, sqlite::salvage(*database, damaged, kTables));
  for (const char* table : kOfNodes) {
    WATTLE_CHECK(database->run("DELETE FROM " + std::string(table) + " WHERE node NOT IN (SELECT id FROM node)"));
    WATTLE_TRY(const auto dropped, database->integer("SELECT changes()"));
    salvaged.rows -= std::min(salvaged.rows, static_cast<std::uint64_t>(dropped));
  }
  return {};
}

void remove_store(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-journal"}) static_cast<void>(::unlink((path + suffix).c_str()));
}

// Moves the file aside and opens a new one with its readable rows.
Result<StoreFile> replaced(const StoreFileOptions& options, Error& why, std::int64_t now_s, const Log& log) {
  const std::string& path = options.path;
  const std::string aside = path + ".damaged-" + std::to_string(now_s);
  for (const char* suffix : {"", "-wal"}) {
    if (std::rename((path + suffix).c_str(), (aside + suffix).c_str()) == 0 || errno == ENOENT) continue;
    return fail_errno(errno, path + suffix, "the file is damaged; move it away by hand");
  }
  sqlite::Salvaged salvaged;
  const Status filled = fill(options, aside, salvaged);
  auto opened = filled ? StoreFile::open_(options) : Result<StoreFile>(tl::unexpected<Error>(filled.error()));
  if (!opened && opened.error().code != Errc::exhausted && opened.error().code != Errc::denied) {
    salvaged = {};
    remove_store(path);
    opened = StoreFile::open_(options);
  }
  if (!opened) return opened;
  why.fix = "moved to " + aside + "; " + std::to_string(salvaged.rows) + " readable rows were copied; check the disk";
  std::string incomplete;
  for (const std::string& table : salvaged.incomplete) incomplete += (incomplete.empty() ? "" : ", ") + table;
  log.error("store.damaged",
            "the store file is damaged; it was moved aside, and its readable rows were copied into a new one",
            {{"error", why},
             {"moved_to", aside},
             {"rows", salvaged.rows},
             {"incomplete", salvaged.rows == 0   ? "all tables"
                            : incomplete.empty() ? "none"
                                                 : incomplete},
             {"lost", "rows that cannot be read; agents send again what they still hold"}});
  return opened;
}

class Counter {
 public:
  explicit Counter(sqlite::Database& database) : database_(database) {}
  // Counts rows for which `is_sound` is false. `bytes` is the column of the body.
  template <class Sound>
  Status count(const char* table, const std::string& query, int bytes, const Sound& is_sound) {
    WATTLE_TRY(auto statement, database_.prepare(query));
    std::uint64_t checked = 0, bad = 0;
    while (checked < kMostChecked) {
      WATTLE_TRY(const bool row, statement.step());
      if (!row) break;
      checked += statement.blob(bytes).size() + 1;
      bad += is_sound(statement) ? 0 : 1;
    }
    note(table, bad);
    return {};
  }
  // Counts rows in which one of the columns is not a whole number of at least 0.
  Status count_negative(const char* table, std::initializer_list<const char*> columns) {
    std::string wrong;
    for (const char* column : columns)
      wrong += (wrong.empty() ? "" : " OR ") + ("typeof(" + std::string(column)) + ")<>'integer' OR " + column + "<0";
    WATTLE_TRY(const auto bad, database_.integer("SELECT count(*) FROM " + std::string(table) + " WHERE " + wrong));
    note(table, static_cast<std::uint64_t>(bad));
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  void note(const char* table, std::uint64_t bad) {
    if (bad > 0) text_ += (text_.empty() ? "" : ", ") + std::to_string(bad) + " of " + table;
  }
  sqlite::Database& database_;
  std::string text_;
};

}  // namespace

Result<OpenedStore> open_or_repair(const StoreFileOptions& options, std::int64_t now_s, const Log& log) {
  std::optional<Error> damage;
  if (is_emptied(options.path)) {
    damage = Error{Errc::malformed, options.path, "is empty, possibly after a power failure", "restore a copy"};
    log.error("store.empty", "the store file is empty; acknowledgements, ledger and raw records start from zero",
              {{"error", *damage}});
  }
  auto opened = StoreFile::open_(options);
  if (!opened && opened.error().code == Errc::malformed) {
    damage = opened.error();
    opened = replaced(options, *damage, now_s, log);
  }
  if (!opened) return forward_error(opened);
  if (damage) WATTLE_CHECK(opened->note("damaged", damage->what, now_s));
  return OpenedStore{std::move(*opened), std::move(damage)};
}

Result<std::string> damaged_rows(sqlite::Database& database) {
  const auto number = [](const Statement& row, int column) { return static_cast<std::uint64_t>(row.integer(column)); };
  Counter all(database);
  WATTLE_CHECK(
      all.count("raw", "SELECT incarnation, seq, hash, body FROM raw ORDER BY id DESC", 3, [&](const Statement& row) {
        return sqlite::record_hash({number(row, 0), number(row, 1)}, row.blob(3)) == row.integer(2);
      }));
  WATTLE_CHECK(all.count(
      "decision", "SELECT id, rest, hash, body FROM decision ORDER BY id DESC", 3,
      [&](const Statement& row) { return decision_hash(number(row, 0), row.blob(3), row.blob(1)) == row.integer(2); }));
  WATTLE_CHECK(all.count("request", "SELECT workload, hash, body FROM request", 2, [](const Statement& row) {
    return request_hash(row.blob(0), row.blob(2)) == row.integer(1);
  }));
  for (const auto& [table, column] :
       {std::pair{"sleep_plan", "body"}, std::pair{"sleep_sums", "body"}, std::pair{"sleep_node", "record"}})
    WATTLE_CHECK(all.count(table, std::string("SELECT hash, ") + column + " FROM " + table, 1,
                           [](const Statement& row) { return plan_hash(row.blob(1)) == row.integer(0); }));
  WATTLE_CHECK(all.count_negative(
      "node", {"records", "refused", "missing", "energy_uj", "estimated_uj", "idle_uj", "unattributed_uj"}));
  WATTLE_CHECK(all.count_negative("ledger", {"kind", "records", "energy_uj", "estimated_uj", "cpu_us", "slot_energy_uj",
                                             "slot_estimated_uj", "slot_cpu_us"}));
  WATTLE_CHECK(all.count_negative("usage", {"kind", "energy_uj", "estimated_uj", "cpu_us", "wait_us", "pressure_us"}));
  WATTLE_CHECK(all.count_negative("usage_node", {"energy_uj", "estimated_uj", "idle_uj", "idle_estimated_uj",
                                                 "unattributed_uj", "unattributed_estimated_uj"}));
  return all.text();
}

}  // namespace wattle::controller
