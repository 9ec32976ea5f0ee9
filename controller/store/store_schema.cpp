#include "controller/store/store_schema.hpp"

#include <array>

namespace wattle::controller {
namespace {

constexpr std::array<const char*, 3> kStoreSteps{
    "CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, records INTEGER NOT NULL DEFAULT 0, "
    "refused INTEGER NOT NULL DEFAULT 0, missing INTEGER NOT NULL DEFAULT 0, energy_uj INTEGER NOT NULL DEFAULT "
    "0, estimated_uj INTEGER NOT NULL DEFAULT 0, idle_uj INTEGER NOT NULL DEFAULT 0, unattributed_uj INTEGER NOT "
    "NULL DEFAULT 0, last_s INTEGER NOT NULL DEFAULT 0, ledger_raw INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE mark(node INTEGER NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY "
    "KEY(node, incarnation)) WITHOUT ROWID;"
    "CREATE TABLE ledger(node INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, records INTEGER NOT "
    "NULL, energy_uj INTEGER NOT NULL, estimated_uj INTEGER NOT NULL, cpu_us INTEGER NOT NULL, last_s INTEGER NOT"
    " NULL, slot_s INTEGER NOT NULL DEFAULT -1, slot_energy_uj INTEGER NOT NULL DEFAULT 0, slot_estimated_uj "
    "INTEGER NOT NULL DEFAULT 0, slot_cpu_us INTEGER NOT NULL DEFAULT 0, slot_wait_us INTEGER NOT NULL DEFAULT 0,"
    " slot_pressure_us INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(node, kind, name)) WITHOUT ROWID;"
    "CREATE TABLE raw(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, incarnation INTEGER NOT NULL, seq INTEGER "
    "NOT NULL, received_s INTEGER NOT NULL, refused INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE gap(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, incarnation INTEGER NOT NULL, first_seq "
    "INTEGER NOT NULL, last_seq INTEGER NOT NULL, why TEXT NOT NULL, noticed_s INTEGER NOT NULL);"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, at_s INTEGER NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL);"
    "CREATE TABLE progress(id INTEGER PRIMARY KEY CHECK(id = 1), ledger_from INTEGER NOT NULL, usage_from_s "
    "INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE decision(id INTEGER PRIMARY KEY, at_s INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT "
    "NULL, rest TEXT NOT NULL);"
    "CREATE INDEX decision_at ON decision(at_s);"
    "CREATE TABLE usage(slot_s INTEGER NOT NULL, node INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT "
    "NULL, energy_uj INTEGER NOT NULL, estimated_uj INTEGER NOT NULL, cpu_us INTEGER NOT NULL, wait_us INTEGER "
    "NOT NULL, pressure_us INTEGER NOT NULL, PRIMARY KEY(slot_s, node, kind, name)) WITHOUT ROWID;"
    "CREATE TABLE usage_node(slot_s INTEGER NOT NULL, node INTEGER NOT NULL, energy_uj INTEGER NOT NULL, "
    "estimated_uj INTEGER NOT NULL, idle_uj INTEGER NOT NULL, idle_estimated_uj INTEGER NOT NULL, unattributed_uj"
    " INTEGER NOT NULL, unattributed_estimated_uj INTEGER NOT NULL, PRIMARY KEY(slot_s, node)) WITHOUT ROWID;"
    "CREATE TABLE pod(uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, owner TEXT NOT NULL, labels TEXT NOT NULL, "
    "described INTEGER NOT NULL, node TEXT NOT NULL, placed_s INTEGER NOT NULL, last_s INTEGER NOT NULL, app TEXT"
    " NOT NULL DEFAULT '', cpu_millicores INTEGER NOT NULL DEFAULT 0, memory_bytes INTEGER NOT NULL DEFAULT 0, "
    "ended_s INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL DEFAULT '', container_ids TEXT NOT NULL DEFAULT '', "
    "replica_of TEXT NOT NULL DEFAULT '', confirmed INTEGER NOT NULL DEFAULT 0, unit TEXT NOT NULL DEFAULT '', "
    "limit_s INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
    "CREATE TABLE request(workload TEXT PRIMARY KEY, at_s INTEGER NOT NULL, hash INTEGER NOT NULL, body BLOB NOT "
    "NULL) WITHOUT ROWID;"
    "INSERT INTO progress VALUES(1, 1, 0)",
    "CREATE TABLE sleep_exclusion(node TEXT PRIMARY KEY, at_s INTEGER NOT NULL, why TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE sleep_plan(id INTEGER PRIMARY KEY CHECK(id = 1), at_s INTEGER NOT NULL, hash INTEGER NOT NULL, body "
    "BLOB NOT NULL)",
    "CREATE TABLE sleep_node(node TEXT PRIMARY KEY, since_ns INTEGER NOT NULL, hash INTEGER NOT NULL, record BLOB NOT "
    "NULL, hello BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE sleep_transition(id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, node TEXT NOT NULL, from_state "
    "INTEGER NOT NULL, to_state INTEGER NOT NULL, operation INTEGER NOT NULL, reason TEXT NOT NULL);"
    "CREATE TABLE sleep_sums(id INTEGER PRIMARY KEY CHECK(id = 1), hash INTEGER NOT NULL, body BLOB NOT NULL)"};

}  // namespace

std::span<const char* const> store_steps() { return kStoreSteps; }

}  // namespace wattle::controller
