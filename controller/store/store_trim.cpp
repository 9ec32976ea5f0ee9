// store_trim: the part of StoreFile that drops old rows: raw records by age and size, rows of the other tables by
// number.
#include <algorithm>

#include "controller/store/store_file.hpp"

namespace wattle::controller {
namespace {

constexpr std::int64_t kMaxEvents = 1000;
constexpr std::size_t kTrimAtLeast = 64;   // records examined
constexpr std::uint64_t kSlackShare = 64;  // share of the bound that is kept free

}  // namespace

// Returns the id below which records are too old or exceed the file's bound. Examines only a few times the number of
// added records, to keep transactions short; a lowered bound is reached over several transactions. Just added records
// stay, because they are not in the ledger yet.
Result<std::int64_t> StoreFile::surplus(std::size_t added, std::int64_t now_s, std::int64_t first_added) {
  const std::uint64_t page = database_->page_bytes();
  const std::uint64_t in_use = database_->pages_in_use() * page;
  const std::uint64_t used = in_use - std::min(in_use, decisions_->bytes() + usage_->bytes() + requests_->bytes());
  const bool full = used > options_.max_bytes;
  const std::uint64_t goal = options_.max_bytes - options_.max_bytes / kSlackShare;
  std::uint64_t surplus = full ? used - goal : 0;
  std::int64_t below = first_raw_id_;
  oldest_raw_->bind(1, static_cast<std::int64_t>(std::max(kTrimAtLeast, 4 * added)));
  for (;;) {
    WATTLE_TRY(const bool row, oldest_raw_->step());
    if (!row || oldest_raw_->integer(0) >= first_added) break;
    const auto bytes = static_cast<std::uint64_t>(oldest_raw_->integer(2)) + 48;
    if (surplus == 0 && age_s(oldest_raw_->integer(0), oldest_raw_->integer(1), now_s) < options_.keep_s) break;
    surplus -= std::min(surplus, bytes);
    below = oldest_raw_->integer(0) + 1;
  }
  oldest_raw_->reset();
  return below;
}

std::int64_t StoreFile::age_s(std::int64_t raw_id, std::int64_t received_s, std::int64_t now_s) const {
  std::int64_t age_s = now_s - received_s;
  for (const ClockStep& step : clock_steps_)
    if (raw_id < step.before_raw_id) age_s -= step.by_s;
  return age_s;
}

Status StoreFile::trim_tables(std::int64_t now_s) {
  const auto drop_oldest = [&](const char* table, std::int64_t most) {
    return database_->run(std::string("DELETE FROM ") + table + " WHERE id <= (SELECT max(id) FROM " + table + ") - " +
                          std::to_string(most));
  };
  WATTLE_CHECK(drop_oldest("gap", options_.max_gap_rows));
  WATTLE_CHECK(drop_oldest("event", kMaxEvents));
  WATTLE_CHECK(usage_->trim(now_s));
  WATTLE_TRY(const auto rows, database_->integer("SELECT count(*) FROM ledger WHERE name <> ''"));
  if (rows <= options_.max_ledger_rows) return {};
  // Drops the rows that were idle for longest, a sixteenth of the bound more than necessary.
  const std::int64_t surplus = rows - options_.max_ledger_rows + options_.max_ledger_rows / 16;
  WATTLE_CHECK(
      database_->run("CREATE TEMP TABLE leaving AS SELECT node, kind, name FROM ledger WHERE name <> ''"
                     " ORDER BY last_s, node, kind, name LIMIT " +
                     std::to_string(surplus)));
  WATTLE_CHECK(usage_->close_rows("(node, kind, name) IN (SELECT node, kind, name FROM leaving)"));
  WATTLE_CHECK(database_->run(
      "INSERT INTO ledger(node, kind, name, records, energy_uj, estimated_uj, cpu_us, last_s) SELECT node, kind, '', " +
      summed("records") + ", " + summed("energy_uj") + ", " + summed("estimated_uj") + ", " + summed("cpu_us") +
      ", max(last_s) FROM ledger WHERE (node, kind, name) IN (SELECT node, kind, name FROM leaving) GROUP BY node, kind"
      " ON CONFLICT(node, kind, name) DO UPDATE SET " +
      ledger_added() + ", last_s=max(last_s, excluded.last_s)"));
  WATTLE_CHECK(database_->run(
      "DELETE FROM ledger WHERE (node, kind, name) IN (SELECT node, kind, name FROM leaving); DROP TABLE leaving"));
  return {};
}

}  // namespace wattle::controller
