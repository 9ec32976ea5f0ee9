// store_read: the part of StoreFile that reads the tables, for tests and people.
#include <algorithm>
#include <tuple>

#include "common/sqlite/record_table.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {
namespace {

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

template <class Row, class Take>
Result<std::vector<Row>> all(sqlite::Database& database, const std::string& sql, Take take) {
  WATTLE_TRY(auto statement, database.prepare(sql));
  std::vector<Row> rows;
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return rows;
    rows.push_back(take(statement));
  }
}

}  // namespace

Result<std::vector<NodeSums>> StoreFile::nodes() {
  return all<NodeSums>(*database_,
                       "SELECT name, records, refused, missing, energy_uj, estimated_uj, idle_uj, unattributed_uj"
                       " FROM node ORDER BY name",
                       [](const sqlite::Statement& at) {
                         return NodeSums{std::string(at.blob(0)), at.integer(1), at.integer(2), at.integer(3),
                                         at.integer(4),           at.integer(5), at.integer(6), at.integer(7)};
                       });
}

// Includes buffered rows. Containers are excluded, because their usage is in their pods' rows.
Result<std::vector<LedgerRow>> StoreFile::ledger() {
  static_assert(kContainerRows == 4);
  WATTLE_TRY(
      std::vector<LedgerRow> rows,
      all<LedgerRow>(*database_,
                     "SELECT n.name, l.name, l.kind, l.records, l.energy_uj, l.estimated_uj, l.cpu_us FROM ledger l"
                     " JOIN node n ON n.id = l.node WHERE l.kind < 4 ORDER BY n.name, l.kind, l.name",
                     [](const sqlite::Statement& at) {
                       return LedgerRow{std::string(at.blob(0)), std::string(at.blob(1)), at.integer(2), at.integer(3),
                                        at.integer(4),           at.integer(5),           at.integer(6)};
                     }));
  std::map<std::tuple<std::string, std::int64_t, std::string>, LedgerRow> sorted;
  for (LedgerRow& row : rows) sorted[{row.node, row.kind, row.name}] = std::move(row);
  const std::vector<std::int64_t> waiting = ledger_.all();
  for (const auto& [name, id] : node_ids_) {
    if (!std::binary_search(waiting.begin(), waiting.end(), id)) continue;
    for (const auto& [key, sums] : ledger_.of(id).rows) {
      if (key.first == kContainerRows) continue;
      LedgerRow& row = sorted[{name, key.first, key.second}];
      row.node = name;
      row.kind = key.first;
      row.name = key.second;
      add_up(row.records, sums.records);
      add_up(row.energy_uj, sums.energy_uj);
      add_up(row.estimated_uj, sums.estimated_uj);
      add_up(row.cpu_us, sums.cpu_us);
    }
  }
  rows.clear();
  for (auto& [key, row] : sorted) rows.push_back(std::move(row));
  return rows;
}

Result<std::vector<RawRecord>> StoreFile::raw() {
  return all<RawRecord>(*database_,
                        "SELECT n.name, r.incarnation, r.seq, r.refused, r.hash, r.body FROM raw r"
                        " JOIN node n ON n.id = r.node ORDER BY r.id",
                        [](const sqlite::Statement& at) {
                          RawRecord record{std::string(at.blob(0)),
                                           {number(at.integer(1)), number(at.integer(2))},
                                           at.integer(3) != 0,
                                           std::string(at.blob(5))};
                          if (sqlite::record_hash(record.mark, record.bytes) != at.integer(4)) record.bytes.clear();
                          return record;
                        });
}

Result<std::vector<StoreGap>> StoreFile::gaps(std::int64_t newest) {
  return all<StoreGap>(*database_,
                       "SELECT n.name, g.incarnation, g.first_seq, g.last_seq, g.why, g.noticed_s FROM gap g"
                       " JOIN node n ON n.id = g.node WHERE g.id > (SELECT coalesce(max(id), 0) FROM gap) - " +
                           std::to_string(newest) + " ORDER BY g.id",
                       [](const sqlite::Statement& at) {
                         return StoreGap{std::string(at.blob(0)), number(at.integer(1)),   number(at.integer(2)),
                                         number(at.integer(3)),   std::string(at.blob(4)), at.integer(5)};
                       });
}

}  // namespace wattle::controller
