// store_tables: reads the tables of a store file, which the product only writes.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>

#include "common/sqlite/record_table.hpp"
#include "controller/store/store_file.hpp"
#include "controller/store/sums.hpp"

namespace wattle::controller {

// Sums of one workload on one node; an empty `name` holds the sums of dropped rows.
struct LedgerRow {
  std::string node, name;
  std::int64_t kind = 0;
  std::int64_t records = 0, energy_uj = 0, estimated_uj = 0, cpu_us = 0;
  bool operator==(const LedgerRow&) const = default;
};

struct NodeSums {
  std::string node;
  std::int64_t records = 0, refused = 0, missing = 0;
  std::int64_t energy_uj = 0, estimated_uj = 0, idle_uj = 0, unattributed_uj = 0;
  bool operator==(const NodeSums&) const = default;
};

struct RawRecord {
  std::string node;
  RecordMark mark;
  bool refused = false;
  std::string bytes;  // empty: damaged
};

struct StoreTables {
  static Result<std::vector<NodeSums>> nodes(StoreFile& file) {
    return file.database_->select<NodeSums>(
        "SELECT name, records, refused, missing, energy_uj, estimated_uj, idle_uj, unattributed_uj FROM node"
        " ORDER BY name",
        [](const sqlite::Statement& at) {
          return NodeSums{std::string(at.blob(0)), at.integer(1), at.integer(2), at.integer(3),
                          at.integer(4),           at.integer(5), at.integer(6), at.integer(7)};
        });
  }

  // Includes buffered rows. Containers are excluded, because their usage is in their pods' rows.
  static Result<std::vector<LedgerRow>> ledger(StoreFile& file) {
    WATTLE_TRY(std::vector<LedgerRow> rows,
               file.database_->select<LedgerRow>(
                   "SELECT n.name, l.name, l.kind, l.records, l.energy_uj, l.estimated_uj, l.cpu_us FROM ledger l"
                   " JOIN node n ON n.id = l.node WHERE l.kind < ? ORDER BY n.name, l.kind, l.name",
                   [](const sqlite::Statement& at) {
                     return LedgerRow{std::string(at.blob(0)), std::string(at.blob(1)), at.integer(2), at.integer(3),
                                      at.integer(4),           at.integer(5),           at.integer(6)};
                   },
                   kContainerRows));
    std::map<std::tuple<std::string, std::int64_t, std::string>, LedgerRow> sorted;
    for (LedgerRow& row : rows) sorted[{row.node, row.kind, row.name}] = std::move(row);
    const std::vector<std::int64_t> waiting = file.ledger_.all();
    for (const auto& [name, id] : file.node_ids_) {
      if (!std::binary_search(waiting.begin(), waiting.end(), id)) continue;
      for (const auto& [key, sums] : file.ledger_.of(id).rows) {
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

  static Result<std::vector<RawRecord>> raw(StoreFile& file) {
    return file.database_->select<RawRecord>(
        "SELECT n.name, r.incarnation, r.seq, r.refused, r.hash, r.body FROM raw r JOIN node n ON n.id = r.node"
        " ORDER BY r.id",
        [](const sqlite::Statement& at) {
          const auto number = [&](int column) { return static_cast<std::uint64_t>(at.integer(column)); };
          RawRecord record{
              std::string(at.blob(0)), {number(1), number(2)}, at.integer(3) != 0, std::string(at.blob(5))};
          if (sqlite::record_hash(record.mark, record.bytes) != at.integer(4)) record.bytes.clear();
          return record;
        });
  }
};

}  // namespace wattle::controller
