#include "controller/store/store_file.hpp"

#include <algorithm>
#include <sstream>

#include "common/sqlite/record_table.hpp"
#include "common/wire/codec.hpp"

namespace wattle::controller {
namespace {

constexpr const char* kClockSet = "clock set";  // event: seconds of the step, before the raw record with that id
constexpr std::uint64_t kLogBytes = 8 << 20;
constexpr std::uint64_t kTrimTablesEvery = 256;  // transactions

std::int64_t stored(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t loaded(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

Result<StoreFile> StoreFile::open_(const StoreFileOptions& options) {
  StoreFile file(options);
  WATTLE_TRY(file.database_, sqlite::Database::open_(options.path, options.database, store_steps()));
  WATTLE_CHECK(file.load());
  WATTLE_CHECK(file.prepare());
  WATTLE_TRY(file.decisions_, DecisionTable::open_(*file.database_, options.decisions));
  WATTLE_TRY(file.usage_, UsageTable::open_(*file.database_, options.usage));
  WATTLE_TRY(file.requests_, RequestTable::open_(*file.database_));
  return file;
}

Status StoreFile::load() {
  std::map<std::int64_t, std::string> names;
  {
    WATTLE_TRY(auto statement, database_->prepare("SELECT id, name FROM node"));
    for (;;) {
      WATTLE_TRY(const bool row, statement.step());
      if (!row) break;
      names[statement.integer(0)] = std::string(statement.blob(1));
    }
  }
  for (const auto& [id, name] : names) {
    node_ids_[name] = id;
    next_node_id_ = id + 1;
  }
  WATTLE_TRY(auto statement, database_->prepare("SELECT node, incarnation, seq FROM mark"));
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) break;
    const auto name = names.find(statement.integer(0));
    if (name == names.end())
      return fail(Errc::malformed, database_->path(), "is damaged: an acknowledgement belongs to no node",
                  "move it away");
    marks_[name->second][loaded(statement.integer(1))] = loaded(statement.integer(2));
  }
  // If all raw records were dropped by age, the ledger's progress still gives the highest id used. New ids are above
  // it.
  WATTLE_TRY(const auto last,
             database_->integer("SELECT max(coalesce((SELECT max(id) FROM raw), 0), (SELECT ledger_from FROM"
                                " progress) - 1, coalesce((SELECT max(ledger_raw) FROM node), 0))"));
  next_raw_id_ = last + 1;
  WATTLE_TRY(first_raw_id_,
             database_->integer("SELECT coalesce(min(id), " + std::to_string(next_raw_id_) + ") FROM raw"));
  WATTLE_CHECK(load_clock_steps());
  return load_ledger();
}

Status StoreFile::load_clock_steps() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT what, detail FROM event ORDER BY id"));
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return {};
    if (statement.blob(0) != kClockSet) continue;
    std::istringstream detail{std::string(statement.blob(1))};
    ClockStep step{};
    if (detail >> step.by_s >> step.before_raw_id && step.before_raw_id > first_raw_id_) clock_steps_.push_back(step);
  }
}

Status StoreFile::clock_set(std::int64_t by_s, std::int64_t now_s) {
  const ClockStep step{next_raw_id_, by_s};
  WATTLE_CHECK(note(kClockSet, std::to_string(step.by_s) + " " + std::to_string(step.before_raw_id), now_s));
  clock_steps_.push_back(step);
  return {};
}

// Adds the sums that were not written to the ledger when the file was closed.
Status StoreFile::load_ledger() {
  WATTLE_TRY(auto statement,
             database_->prepare("SELECT r.id, r.node, r.incarnation, r.seq, r.received_s, r.hash, r.body FROM raw r"
                                " JOIN node n ON n.id = r.node WHERE r.id >= (SELECT ledger_from FROM progress)"
                                " AND r.id > n.ledger_raw AND r.refused = 0 ORDER BY r.id"));
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return {};
    const RecordMark mark{loaded(statement.integer(2)), loaded(statement.integer(3))};
    const std::string_view body = statement.blob(6);
    if (sqlite::record_hash(mark, body) != statement.integer(5)) continue;  // damaged, so not counted
    if (const auto record = wire::decode_record(body))
      ledger_.add(statement.integer(1), statement.integer(0), *record, statement.integer(4));
  }
}

Status StoreFile::prepare() {
  const auto ready = [&](std::optional<sqlite::Statement>& out, const char* sql) -> Status {
    WATTLE_TRY(out, database_->prepare(sql));
    return {};
  };
  WATTLE_CHECK(ready(add_node_, "INSERT INTO node(id, name) VALUES(?,?)"));
  WATTLE_CHECK(
      ready(add_sums_, ("UPDATE node SET records=records+?2, refused=refused+?3, energy_uj=" + at_most("energy_uj+?4") +
                        ", estimated_uj=" + at_most("estimated_uj+?5") + ", idle_uj=" + at_most("idle_uj+?6") +
                        ", unattributed_uj=" + at_most("unattributed_uj+?7") + ", last_s=?8 WHERE id=?1")
                           .c_str()));
  WATTLE_CHECK(ready(add_raw_, "INSERT INTO raw VALUES(?,?,?,?,?,?,?,?)"));
  WATTLE_CHECK(ready(
      add_ledger_, ("INSERT INTO ledger VALUES(?1,?2,?3,?8,?4,?5,?6,?7,?9,?10,?11,?12,?13,?14) ON CONFLICT(node, kind, "
                    "name) DO UPDATE SET " +
                    ledger_added() + ", last_s=excluded.last_s, slot_s=excluded.slot_s, " +
                    added({"slot_energy_uj", "slot_estimated_uj", "slot_cpu_us", "slot_wait_us", "slot_pressure_us"}))
                       .c_str()));
  WATTLE_CHECK(
      ready(add_gap_, "INSERT INTO gap(node, incarnation, first_seq, last_seq, why, noticed_s) VALUES(?,?,?,?,?,?)"));
  WATTLE_CHECK(ready(count_gap_, "UPDATE node SET missing=missing+?2 WHERE id=?1"));
  WATTLE_CHECK(ready(set_mark_, "INSERT OR REPLACE INTO mark VALUES(?,?,?)"));
  WATTLE_CHECK(ready(drop_mark_, "DELETE FROM mark WHERE node=? AND incarnation=?"));
  WATTLE_CHECK(ready(oldest_raw_, "SELECT id, received_s, length(body) FROM raw ORDER BY id LIMIT ?"));
  WATTLE_CHECK(ready(set_written_, "UPDATE node SET ledger_raw=?2 WHERE id=?1"));
  WATTLE_CHECK(ready(set_progress_, "UPDATE progress SET ledger_from=?"));
  return ready(drop_raw_, "DELETE FROM raw WHERE id < ?");
}

Result<std::int64_t> StoreFile::node_id(const std::string& name) {
  const auto found = node_ids_.find(name);
  if (found != node_ids_.end()) return found->second;
  add_node_->bind(1, next_node_id_);
  add_node_->bind_text(2, name);
  WATTLE_CHECK(add_node_->run());
  new_nodes_.push_back(name);
  node_ids_[name] = next_node_id_;
  return next_node_id_++;
}

Status StoreFile::apply(std::span<const StoreItem> items, std::int64_t now_s) {
  const std::int64_t raw_id_before = next_raw_id_;
  StoreMarks changed, after;
  std::int64_t first_raw_id = first_raw_id_;
  struct Counted {
    std::int64_t node, raw_id;
    const StoreItem* item;
  };
  std::vector<Counted> counted;
  std::map<std::int64_t, Added> added;  // in row order
  std::vector<std::int64_t> written;
  const auto all = [&]() -> Status {
    WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
    for (const StoreItem& item : items) {
      auto& mine = changed[item.node];
      const auto begun = mine.find(item.mark.incarnation);
      std::uint64_t& mark = begun != mine.end() ? begun->second : mine[item.mark.incarnation];
      if (begun == mine.end()) {
        const auto node = marks_.find(item.node);
        if (node != marks_.end())
          if (const auto had = node->second.find(item.mark.incarnation); had != node->second.end()) mark = had->second;
      }
      if (item.mark.seq <= mark) continue;
      mark = item.mark.seq;
      WATTLE_TRY(const auto node, node_id(item.node));
      if (!item.bytes.empty() && !item.refused) counted.push_back({node, next_raw_id_, &item});
      if (!item.bytes.empty()) added[node].add(item);
      WATTLE_CHECK(add_item(node, item, now_s));
    }
    WATTLE_CHECK(add_to_nodes(added, now_s));
    WATTLE_CHECK(set_marks(changed, after));
    WATTLE_TRY(first_raw_id, surplus(items.size(), now_s, raw_id_before));
    written = ledger_.due(now_s, options_.ledger_every_s, first_raw_id);
    WATTLE_CHECK(write_ledger(written, raw_id_before));
    if (first_raw_id > first_raw_id_) {
      drop_raw_->bind(1, first_raw_id);
      WATTLE_CHECK(drop_raw_->run());
    }
    if (++applied_ % kTrimTablesEvery == 1) WATTLE_CHECK(trim_tables(now_s));
    return transaction.commit();
  };
  const Status done = all();
  usage_->settle(done.has_value());
  if (!done) {
    for (const std::string& name : new_nodes_) node_ids_.erase(name);
    next_node_id_ -= stored(new_nodes_.size());
    next_raw_id_ = raw_id_before;
  } else {
    for (auto& [node, marks] : after) marks_[node] = std::move(marks);
    first_raw_id_ = first_raw_id;
    std::erase_if(clock_steps_, [&](const ClockStep& step) { return step.before_raw_id <= first_raw_id_; });
    for (const std::int64_t node : written) ledger_.forget(node);
    for (const Counted& one : counted) ledger_.add(one.node, one.raw_id, one.item->record, now_s);
  }
  new_nodes_.clear();
  return done;
}

Status StoreFile::write_ledger() {
  const std::vector<std::int64_t> nodes = ledger_.all();
  const auto all = [&]() -> Status {
    WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
    WATTLE_CHECK(write_ledger(nodes, next_raw_id_));
    return transaction.commit();
  };
  Status done = all();
  usage_->settle(done.has_value());
  if (!done) return done;
  for (const std::int64_t node : nodes) ledger_.forget(node);
  return {};
}

Status StoreFile::write_ledger(const std::vector<std::int64_t>& nodes, std::int64_t next_raw_id) {
  for (const std::int64_t node : nodes) {
    const WaitingLedger& waiting = ledger_.of(node);
    const std::int64_t slot_s = usage_->slot_for(waiting.since_s);
    WATTLE_CHECK(usage_->begin_slot(node, slot_s));
    WATTLE_CHECK(usage_->add_node(node, slot_s, waiting.use, waiting.since_s));
    for (const auto& [key, sums] : waiting.rows) {
      add_ledger_->bind(1, node);
      add_ledger_->bind(2, key.first);
      add_ledger_->bind_text(3, key.second);
      add_ledger_->bind(4, sums.energy_uj);
      add_ledger_->bind(5, sums.estimated_uj);
      add_ledger_->bind(6, sums.cpu_us);
      add_ledger_->bind(7, waiting.last_s);
      add_ledger_->bind(8, sums.records);
      add_ledger_->bind(9, usage_->kept() ? slot_s : -1);
      int at = 9;
      for (const std::int64_t sum : {sums.energy_uj, sums.estimated_uj, sums.cpu_us, sums.wait_us, sums.pressure_us})
        add_ledger_->bind(++at, usage_->kept() ? sum : 0);
      WATTLE_CHECK(add_ledger_->run());
    }
    set_written_->bind(1, node);
    set_written_->bind(2, waiting.last_raw);
    WATTLE_CHECK(set_written_->run());
  }
  set_progress_->bind(1, ledger_.lowest_without(nodes, next_raw_id));
  return set_progress_->run();
}

// Fills `after` with all marks of the changed nodes.
Status StoreFile::set_marks(const StoreMarks& changed, StoreMarks& after) {
  for (const auto& [name, marks] : changed) {
    WATTLE_TRY(const auto node, node_id(name));
    auto& mine = after[name];
    if (const auto had = marks_.find(name); had != marks_.end()) mine = had->second;
    for (const auto& [incarnation, seq] : marks) {
      mine[incarnation] = seq;
      set_mark_->bind(1, node);
      set_mark_->bind(2, stored(incarnation));
      set_mark_->bind(3, stored(seq));
      WATTLE_CHECK(set_mark_->run());
    }
    while (mine.size() > kMarksPerNode) {
      drop_mark_->bind(1, node);
      drop_mark_->bind(2, stored(mine.begin()->first));
      WATTLE_CHECK(drop_mark_->run());
      mine.erase(mine.begin());
    }
  }
  return {};
}

Status StoreFile::add_item(std::int64_t node, const StoreItem& item, std::int64_t now_s) {
  if (item.gap) WATTLE_CHECK(add_gap(node, *item.gap, now_s));
  if (item.bytes.empty()) return {};
  add_raw_->bind(1, next_raw_id_++);
  add_raw_->bind(2, node);
  add_raw_->bind(3, stored(item.mark.incarnation));
  add_raw_->bind(4, stored(item.mark.seq));
  add_raw_->bind(5, now_s);
  add_raw_->bind(6, item.refused ? 1 : 0);
  add_raw_->bind(7, sqlite::record_hash(item.mark, item.bytes));
  add_raw_->bind(8, std::string_view(item.bytes));
  return add_raw_->run();
}

void StoreFile::Added::add(const StoreItem& item) {
  ++(item.refused ? refused : records);
  if (item.refused || !counts(item.record)) return;
  const NodeValues& values = item.record.node;
  add_up(values.energy_source == EnergySource::estimated ? estimated_uj : energy_uj,
         stored(values.energy_uj.value_or(0)));
  add_up(idle_uj, stored(values.idle_energy_uj.value_or(0)));
  add_up(unattributed_uj, stored(values.unattributed_energy_uj.value_or(0)));
}

Status StoreFile::add_to_nodes(const std::map<std::int64_t, Added>& added, std::int64_t now_s) {
  for (const auto& [node, sums] : added) {
    add_sums_->bind(1, node);
    add_sums_->bind(2, sums.records);
    add_sums_->bind(3, sums.refused);
    add_sums_->bind(4, sums.energy_uj);
    add_sums_->bind(5, sums.estimated_uj);
    add_sums_->bind(6, sums.idle_uj);
    add_sums_->bind(7, sums.unattributed_uj);
    add_sums_->bind(8, now_s);
    WATTLE_CHECK(add_sums_->run());
  }
  return {};
}

Status StoreFile::add_gap(std::int64_t node, const StoreGap& gap, std::int64_t now_s) {
  add_gap_->bind(1, node);
  add_gap_->bind(2, stored(gap.incarnation));
  add_gap_->bind(3, stored(gap.first_seq));
  add_gap_->bind(4, stored(gap.last_seq));
  add_gap_->bind_text(5, gap.why);
  add_gap_->bind(6, now_s);
  WATTLE_CHECK(add_gap_->run());
  count_gap_->bind(1, node);
  count_gap_->bind(2, stored(gap.records()));
  return count_gap_->run();
}

Status StoreFile::adopt(const StoreMarks& marks) {
  StoreMarks higher, after;
  for (const auto& [node, mine] : marks)
    for (const auto& [incarnation, seq] : mine)
      if (marks_[node][incarnation] < seq) higher[node][incarnation] = seq;
  WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
  WATTLE_CHECK(set_marks(higher, after));
  WATTLE_CHECK(transaction.commit());
  new_nodes_.clear();
  for (auto& [node, mine] : after) marks_[node] = std::move(mine);
  return {};
}

Status StoreFile::note(const std::string& what, const std::string& detail, std::int64_t now_s) {
  WATTLE_TRY(auto statement, database_->prepare("INSERT INTO event(at_s, what, detail) VALUES(?,?,?)"));
  statement.bind(1, now_s);
  statement.bind_text(2, what);
  statement.bind_text(3, detail);
  return statement.run();
}

Status StoreFile::checkpoint_if_long() {
  const std::uint64_t pages = database_->pages_written();
  if ((pages - pages_at_checkpoint_) * database_->page_bytes() < kLogBytes) return {};
  pages_at_checkpoint_ = pages;
  return database_->checkpoint();
}

}  // namespace wattle::controller
