// store_steps: the steps that migrate the store's file from each schema version to the next. A released step never
// changes.
#include <array>

#include "controller/store/store_file.hpp"

namespace wattle::controller {
namespace {

constexpr std::array<const char*, 8> kStoreSteps{
    "CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, records INTEGER NOT NULL DEFAULT 0,"
    " refused INTEGER NOT NULL DEFAULT 0, missing INTEGER NOT NULL DEFAULT 0, energy_uj INTEGER NOT NULL DEFAULT 0,"
    " estimated_uj INTEGER NOT NULL DEFAULT 0, idle_uj INTEGER NOT NULL DEFAULT 0,"
    " unattributed_uj INTEGER NOT NULL DEFAULT 0, last_s INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE mark(node INTEGER NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " PRIMARY KEY(node, incarnation)) WITHOUT ROWID;"
    "CREATE TABLE ledger(node INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, records INTEGER NOT NULL,"
    " energy_uj INTEGER NOT NULL, estimated_uj INTEGER NOT NULL, cpu_us INTEGER NOT NULL, last_s INTEGER NOT NULL,"
    " PRIMARY KEY(node, kind, name)) WITHOUT ROWID;"
    "CREATE TABLE raw(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER NOT "
    "NULL,"
    " received_s INTEGER NOT NULL, refused INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE gap(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    " first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, why TEXT NOT NULL, noticed_s INTEGER NOT NULL);"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, at_s INTEGER NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL)",
    // 2: up to which raw record a node's are in the ledger, and the lowest that may not be. In files of 1 all are.
    "ALTER TABLE node ADD COLUMN ledger_raw INTEGER NOT NULL DEFAULT 0;"
    "UPDATE node SET ledger_raw = (SELECT coalesce(max(id), 0) FROM raw);"
    "CREATE TABLE progress(id INTEGER PRIMARY KEY CHECK(id = 1), ledger_from INTEGER NOT NULL);"
    "INSERT INTO progress SELECT 1, coalesce(max(id), 0) + 1 FROM raw",
    // 3: decisions and what became of them.
    "CREATE TABLE decision(id INTEGER PRIMARY KEY, at_s INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT NULL,"
    " rest TEXT NOT NULL); CREATE INDEX decision_at ON decision(at_s)",
    // 4: what was used by the hour, and whose it was. Of the hour that goes on workloads' sums are in the ledger.
    "ALTER TABLE ledger ADD COLUMN slot_s INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE ledger ADD COLUMN slot_energy_uj INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE ledger ADD COLUMN slot_estimated_uj INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE ledger ADD COLUMN slot_cpu_us INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE ledger ADD COLUMN slot_wait_us INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE ledger ADD COLUMN slot_pressure_us INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE progress ADD COLUMN usage_from_s INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE usage(slot_s INTEGER NOT NULL, node INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,"
    " energy_uj INTEGER NOT NULL, estimated_uj INTEGER NOT NULL, cpu_us INTEGER NOT NULL, wait_us INTEGER NOT NULL,"
    " pressure_us INTEGER NOT NULL, PRIMARY KEY(slot_s, node, kind, name)) WITHOUT ROWID;"
    "CREATE TABLE usage_node(slot_s INTEGER NOT NULL, node INTEGER NOT NULL, energy_uj INTEGER NOT NULL,"
    " estimated_uj INTEGER NOT NULL, idle_uj INTEGER NOT NULL, idle_estimated_uj INTEGER NOT NULL,"
    " unattributed_uj INTEGER NOT NULL, unattributed_estimated_uj INTEGER NOT NULL, PRIMARY KEY(slot_s, node))"
    " WITHOUT ROWID;"
    "CREATE TABLE pod(uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, owner TEXT NOT NULL, labels TEXT NOT NULL,"
    " described INTEGER NOT NULL, node TEXT NOT NULL, placed_s INTEGER NOT NULL, last_s INTEGER NOT NULL)"
    " WITHOUT ROWID",
    // 5: what is known of workloads' needs.
    "CREATE TABLE request(workload TEXT PRIMARY KEY, at_s INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT NULL)"
    " WITHOUT ROWID",
    // 6: what was asked for, and when it ended: days that can be played again.
    "ALTER TABLE pod ADD COLUMN app TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE pod ADD COLUMN cpu_millicores INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE pod ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE pod ADD COLUMN ended_s INTEGER NOT NULL DEFAULT 0",
    // 7: containers of pods, as rows of kind 4 of ledger and usage, and what they and their pods are called.
    "ALTER TABLE pod ADD COLUMN name TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE pod ADD COLUMN container_ids TEXT NOT NULL DEFAULT ''",
    // 8: what a restart needs of running pods: the owner whose replicas are kept apart, and the unit and time limit of
    // workloads that an operator confirmed.
    "ALTER TABLE pod ADD COLUMN replica_of TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE pod ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE pod ADD COLUMN unit TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE pod ADD COLUMN limit_s INTEGER NOT NULL DEFAULT 0"};

}  // namespace

std::span<const char* const> store_steps() { return kStoreSteps; }

}  // namespace wattle::controller
