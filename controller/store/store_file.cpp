#include "controller/store/store_file.hpp"

#include <algorithm>
#include <sstream>

#include "common/sqlite/record_table.hpp"
#include "common/wire/codec.hpp"
#include "controller/store/store_repair.hpp"
#include "controller/store/store_schema.hpp"

namespace wattle::controller {
namespace {

constexpr const char* kClockSet = "clock set";  // event: seconds of the step, before the raw record with that id
constexpr std::uint64_t kLogBytes = 8 << 20;
constexpr std::uint64_t kTrimTablesEvery = 256;  // transactions
constexpr std::int64_t kMaxEvents = 1000;
constexpr std::size_t kTrimAtLeast = 64;   // records examined
constexpr std::uint64_t kSlackShare = 64;  // share of the bound that is kept free

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
  WATTLE_TRY(file.sleeps_, SleepTable::open_(*file.database_));
  return file;
}

Status StoreFile::load() {
  std::map<std::int64_t, std::string> names;
  WATTLE_TRY(auto nodes, database_->prepare("SELECT id, name FROM node"));
  WATTLE_CHECK(nodes.each([&](const sqlite::Statement& row) { names[row.integer(0)] = std::string(row.blob(1)); }));
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
  WATTLE_TRY(auto statement, database_->prepare("SELECT detail FROM event WHERE what = ? ORDER BY id"));
  const std::string what = kClockSet;
  statement.bind_all(what);
  return statement.each([&](const sqlite::Statement& row) {
    std::istringstream detail{std::string(row.blob(0))};
    ClockStep step{};
    if (detail >> step.by_s >> step.before_raw_id && step.before_raw_id > first_raw_id_) clock_steps_.push_back(step);
  });
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
  return statement.each([&](const sqlite::Statement& row) {
    const RecordMark mark{loaded(row.integer(2)), loaded(row.integer(3))};
    const std::string_view body = row.blob(6);
    if (sqlite::record_hash(mark, body) != row.integer(5)) return;  // damaged, so not counted
    if (const auto record = wire::decode_record(body))
      ledger_.add(row.integer(1), row.integer(0), *record, row.integer(4));
  });
}

Status StoreFile::prepare() {
  WATTLE_TRY(add_node_, database_->prepare("INSERT INTO node(id, name) VALUES(?,?)"));
  WATTLE_TRY(add_sums_, database_->prepare("UPDATE node SET records=records+?2, refused=refused+?3, energy_uj=" +
                                           at_most("energy_uj+?4") + ", estimated_uj=" + at_most("estimated_uj+?5") +
                                           ", idle_uj=" + at_most("idle_uj+?6") + ", unattributed_uj=" +
                                           at_most("unattributed_uj+?7") + ", last_s=?8 WHERE id=?1"));
  WATTLE_TRY(add_raw_, database_->prepare("INSERT INTO raw VALUES(?,?,?,?,?,?,?,?)"));
  WATTLE_TRY(
      add_ledger_,
      database_->prepare(
          "INSERT INTO ledger VALUES(?1,?2,?3,?8,?4,?5,?6,?7,?9,?10,?11,?12,?13,?14) ON CONFLICT(node, kind, name)"
          " DO UPDATE SET " +
          ledger_added() + ", last_s=excluded.last_s, slot_s=excluded.slot_s, " +
          added({"slot_energy_uj", "slot_estimated_uj", "slot_cpu_us", "slot_wait_us", "slot_pressure_us"})));
  WATTLE_TRY(add_gap_, database_->prepare("INSERT INTO gap(node, incarnation, first_seq, last_seq, why, noticed_s)"
                                          " VALUES(?,?,?,?,?,?)"));
  WATTLE_TRY(count_gap_, database_->prepare("UPDATE node SET missing=missing+?2 WHERE id=?1"));
  WATTLE_TRY(set_mark_, database_->prepare("INSERT OR REPLACE INTO mark VALUES(?,?,?)"));
  WATTLE_TRY(drop_mark_, database_->prepare("DELETE FROM mark WHERE node=? AND incarnation=?"));
  WATTLE_TRY(oldest_raw_, database_->prepare("SELECT id, received_s, length(body) FROM raw ORDER BY id LIMIT ?"));
  WATTLE_TRY(set_written_, database_->prepare("UPDATE node SET ledger_raw=?2 WHERE id=?1"));
  WATTLE_TRY(set_progress_, database_->prepare("UPDATE progress SET ledger_from=?"));
  WATTLE_TRY(drop_raw_, database_->prepare("DELETE FROM raw WHERE id < ?"));
  return {};
}

Result<std::int64_t> StoreFile::node_id(const std::string& name) {
  const auto found = node_ids_.find(name);
  if (found != node_ids_.end()) return found->second;
  WATTLE_CHECK(add_node_->run(next_node_id_, name));
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
  std::vector<sqlite::HashedRecord> bodies;
  bodies.reserve(items.size());
  for (const StoreItem& item : items) bodies.push_back({item.mark, item.bytes});
  const std::vector<std::int64_t> hashes = sqlite::record_hashes(bodies);
  const auto all = [&]() -> Status {
    WATTLE_TRY(auto transaction, sqlite::Transaction::begin(*database_));
    auto next_hash = hashes.begin();
    for (const StoreItem& item : items) {
      const std::int64_t hash = *next_hash++;
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
      WATTLE_CHECK(add_item(node, item, hash, now_s));
    }
    WATTLE_CHECK(add_to_nodes(added, now_s));
    WATTLE_CHECK(set_marks(changed, after));
    WATTLE_TRY(first_raw_id, surplus(items.size(), now_s, raw_id_before));
    written = ledger_.due(now_s, options_.ledger_every_s, first_raw_id);
    WATTLE_CHECK(write_ledger(written, raw_id_before));
    if (first_raw_id > first_raw_id_) {
      WATTLE_CHECK(drop_raw_->run(first_raw_id));
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
      const LedgerSums slot = usage_->kept() ? sums : LedgerSums();
      WATTLE_CHECK(add_ledger_->run(node, key.first, key.second, sums.energy_uj, sums.estimated_uj, sums.cpu_us,
                                    waiting.last_s, sums.records, usage_->kept() ? slot_s : -1, slot.energy_uj,
                                    slot.estimated_uj, slot.cpu_us, slot.wait_us, slot.pressure_us));
    }
    WATTLE_CHECK(set_written_->run(node, waiting.last_raw));
  }
  return set_progress_->run(ledger_.lowest_without(nodes, next_raw_id));
}

// Fills `after` with all marks of the changed nodes.
Status StoreFile::set_marks(const StoreMarks& changed, StoreMarks& after) {
  for (const auto& [name, marks] : changed) {
    WATTLE_TRY(const auto node, node_id(name));
    auto& mine = after[name];
    if (const auto had = marks_.find(name); had != marks_.end()) mine = had->second;
    for (const auto& [incarnation, seq] : marks) {
      mine[incarnation] = seq;
      WATTLE_CHECK(set_mark_->run(node, incarnation, seq));
    }
    while (mine.size() > kMarksPerNode) {
      // The current incarnation may be the lowest, if the node's clock was set back.
      auto lowest =
          std::ranges::find_if(mine, [&, &news = marks](const auto& mark) { return !news.contains(mark.first); });
      if (lowest == mine.end()) lowest = mine.begin();
      WATTLE_CHECK(drop_mark_->run(node, lowest->first));
      mine.erase(lowest);
    }
  }
  return {};
}

Status StoreFile::add_item(std::int64_t node, const StoreItem& item, std::int64_t hash, std::int64_t now_s) {
  if (item.gap) WATTLE_CHECK(add_gap(node, *item.gap, now_s));
  if (item.bytes.empty()) return {};
  return add_raw_->run(next_raw_id_++, node, item.mark.incarnation, item.mark.seq, now_s, item.refused, hash,
                       sqlite::Blob{item.bytes});
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
  for (const auto& [node, sums] : added)
    WATTLE_CHECK(add_sums_->run(node, sums.records, sums.refused, sums.energy_uj, sums.estimated_uj, sums.idle_uj,
                                sums.unattributed_uj, now_s));
  return {};
}

Status StoreFile::add_gap(std::int64_t node, const StoreGap& gap, std::int64_t now_s) {
  WATTLE_CHECK(add_gap_->run(node, gap.incarnation, gap.first_seq, gap.last_seq, gap.why, now_s));
  return count_gap_->run(node, gap.records());
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

Result<std::string> StoreFile::damaged_rows() { return controller::damaged_rows(*database_); }

Status StoreFile::note(const std::string& what, const std::string& detail, std::int64_t now_s) {
  WATTLE_TRY(auto statement, database_->prepare("INSERT INTO event(at_s, what, detail) VALUES(?,?,?)"));
  return statement.run(now_s, what, detail);
}

Status StoreFile::checkpoint_if_long() {
  const std::uint64_t pages = database_->pages_written();
  if ((pages - pages_at_checkpoint_) * database_->page_bytes() < kLogBytes) return {};
  pages_at_checkpoint_ = pages;
  return database_->checkpoint();
}

// Returns the id below which records are too old or exceed the file's bound. Examines only a few times the number of
// added records, to keep transactions short; a lowered bound is reached over several transactions. Newly added records
// stay, because they are not in the ledger yet.
Result<std::int64_t> StoreFile::surplus(std::size_t added, std::int64_t now_s, std::int64_t first_added) {
  const std::uint64_t page = database_->page_bytes();
  const std::uint64_t in_use = database_->pages_in_use() * page;
  const std::uint64_t used = in_use - std::min(in_use, decisions_->bytes() + usage_->bytes() + requests_->bytes());
  const bool full = used > options_.max_bytes;
  const std::uint64_t goal = options_.max_bytes - options_.max_bytes / kSlackShare;
  std::uint64_t surplus = full ? used - goal : 0;
  std::int64_t below = first_raw_id_;
  oldest_raw_->bind_all(std::max(kTrimAtLeast, 4 * added));
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

Result<std::vector<StoreGap>> StoreFile::gaps(std::int64_t newest) {
  return database_->select<StoreGap>(
      "SELECT n.name, g.incarnation, g.first_seq, g.last_seq, g.why, g.noticed_s FROM gap g"
      " JOIN node n ON n.id = g.node WHERE g.id > (SELECT coalesce(max(id), 0) FROM gap) - ? ORDER BY g.id",
      [](const sqlite::Statement& at) {
        return StoreGap{std::string(at.blob(0)), loaded(at.integer(1)),   loaded(at.integer(2)),
                        loaded(at.integer(3)),   std::string(at.blob(4)), at.integer(5)};
      },
      newest);
}

}  // namespace wattle::controller
