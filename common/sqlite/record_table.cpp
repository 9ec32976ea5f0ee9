#include "common/sqlite/record_table.hpp"

#include <algorithm>
#include <array>

#include "common/sqlite/page_scan.hpp"
#include "common/sqlite/salvage.hpp"

namespace wattle::sqlite {

namespace {
constexpr std::array<const char*, 1> kSteps{
    "CREATE TABLE record(id INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " hash INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE gap(incarnation INTEGER NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,"
    " records INTEGER NOT NULL)"};

constexpr std::array<SalvageTable, 2> kTables{{{"record", "id"}, {"gap", "rowid"}}};
// Rows that no process wrote, and those that both directions of a search have copied.
constexpr const char* kUnsoundRows =
    "DELETE FROM record WHERE id NOT BETWEEN 1 AND 9007199254740992;"
    "DELETE FROM gap WHERE typeof(incarnation) <> 'integer' OR typeof(first_seq) <> 'integer'"
    " OR typeof(last_seq) <> 'integer' OR typeof(records) <> 'integer' OR incarnation < 1 OR first_seq < 1"
    " OR last_seq < first_seq OR records < 1 OR records > last_seq - first_seq + 1"
    " OR rowid NOT IN (SELECT min(rowid) FROM gap GROUP BY incarnation, first_seq, last_seq, records)";

std::int64_t stored(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t loaded(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::uint64_t mixed(std::uint64_t value, std::uint64_t byte) { return (value ^ byte) * 0x100000001b3; }

std::uint64_t mixed(std::uint64_t value, std::string_view bytes) {
  for (const char byte : bytes) value = mixed(value, static_cast<unsigned char>(byte));
  return value;
}

std::uint64_t hash_of(const RecordMark& mark) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const std::uint64_t number : {mark.incarnation, mark.seq})
    for (unsigned shift = 0; shift < 64; shift += 8) value = mixed(value, (number >> shift) & 0xff);
  return value;
}
}  // namespace

std::int64_t record_hash(const RecordMark& mark, std::string_view body) { return stored(mixed(hash_of(mark), body)); }

std::vector<std::int64_t> record_hashes(std::span<const HashedRecord> records) {
  std::vector<std::int64_t> hashes;
  hashes.reserve(records.size());
  for (; records.size() >= 4; records = records.subspan(4)) {
    const auto a = records[0].body, b = records[1].body, c = records[2].body, d = records[3].body;
    std::uint64_t of_a = hash_of(records[0].mark), of_b = hash_of(records[1].mark), of_c = hash_of(records[2].mark),
                  of_d = hash_of(records[3].mark);
    const std::size_t least = std::min({a.size(), b.size(), c.size(), d.size()});
    for (std::size_t i = 0; i < least; ++i) {
      of_a = mixed(of_a, static_cast<unsigned char>(a[i]));
      of_b = mixed(of_b, static_cast<unsigned char>(b[i]));
      of_c = mixed(of_c, static_cast<unsigned char>(c[i]));
      of_d = mixed(of_d, static_cast<unsigned char>(d[i]));
    }
    hashes.push_back(stored(mixed(of_a, a.substr(least))));
    hashes.push_back(stored(mixed(of_b, b.substr(least))));
    hashes.push_back(stored(mixed(of_c, c.substr(least))));
    hashes.push_back(stored(mixed(of_d, d.substr(least))));
  }
  for (const HashedRecord& record : records) hashes.push_back(record_hash(record.mark, record.body));
  return hashes;
}

Result<RecordTable> RecordTable::open_(const std::string& path, const DatabaseOptions& options) {
  WATTLE_TRY(auto database, Database::open_(path, options, kSteps));
  RecordTable table(std::move(database));
  WATTLE_TRY(table.insert_, table.database_->prepare("INSERT INTO record VALUES(?,?,?,?,?)"));
  WATTLE_TRY(table.remove_, table.database_->prepare("DELETE FROM record WHERE id BETWEEN ? AND ?"));
  WATTLE_TRY(table.read_,
             table.database_->prepare(
                 "SELECT id, incarnation, seq, hash, body FROM record WHERE id BETWEEN ? AND ? ORDER BY id"));
  return table;
}

Result<SalvagedRecords> RecordTable::salvage(const std::string& damaged) {
  const auto copied = sqlite::salvage(*database_, damaged, kTables);
  const auto rows = list();
  const bool any = rows && !rows->empty();
  WATTLE_TRY(auto transaction, Transaction::begin(*database_));
  if (!any || !copied || !copied->incomplete.empty()) WATTLE_CHECK(adopt_pages(damaged));
  WATTLE_CHECK(database_->run(kUnsoundRows));
  SalvagedRecords out;
  // Pages that SQLite has freed may hold earlier records, which are not missing.
  WATTLE_CHECK(remove_unsound(any ? std::optional(rows->front().mark) : std::nullopt, out));
  WATTLE_CHECK(transaction.commit());
  WATTLE_TRY(const auto counted, database_->integer("SELECT total(records) FROM gap"));
  if (out.lost) *out.lost -= std::min(*out.lost, loaded(counted));
  return out;
}

// The pages also hold the rows that SQLite can read.
Status RecordTable::adopt_pages(const std::string& damaged) {
  const auto pages = PageScan::open_(damaged, database_->page_bytes());
  if (!pages) return {};
  const auto places = pages->find();
  if (places.empty()) return {};
  WATTLE_CHECK(database_->run("DELETE FROM record"));
  std::int64_t id = 1;
  for (const PageScan::Place& place : places)
    if (const auto record = pages->read(place)) WATTLE_CHECK(insert(id++, *record));
  return {};
}

Status RecordTable::remove_unsound(const std::optional<RecordMark>& complete_from, SalvagedRecords& out) {
  if (complete_from) out.lost = 0;
  std::vector<std::int64_t> unsound;
  WATTLE_TRY(auto rows, database_->prepare("SELECT id, incarnation, seq, hash, body FROM record ORDER BY id"));
  RecordMark last;
  for (;;) {
    WATTLE_TRY(const bool row, rows.step());
    if (!row) break;
    const RecordMark mark{loaded(rows.integer(1)), loaded(rows.integer(2))};
    if (record_hash(mark, rows.blob(4)) != rows.integer(3) || mark <= last) {
      unsound.push_back(rows.integer(0));
      continue;
    }
    if (out.lost && last >= *complete_from && mark.incarnation == last.incarnation)
      *out.lost += mark.seq - last.seq - 1;
    last = mark;
    ++out.kept;
  }
  rows.reset();
  for (const std::int64_t id : unsound) {
    remove_->bind(1, id);
    remove_->bind(2, id);
    WATTLE_CHECK(remove_->run());
  }
  return {};
}

Result<std::deque<StoredRecord>> RecordTable::list() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT id, incarnation, seq, length(body) FROM record ORDER BY id"));
  std::deque<StoredRecord> records;
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return records;
    StoredRecord record{statement.integer(0),
                        {loaded(statement.integer(1)), loaded(statement.integer(2))},
                        loaded(statement.integer(3))};
    if (!records.empty() && record.mark <= records.back().mark)
      return fail(Errc::malformed, database_->path(), "is damaged: its records are not in order",
                  "move it away; the program then creates a new one");
    records.push_back(record);
  }
}

Result<std::vector<Gap>> RecordTable::gaps() {
  WATTLE_TRY(auto statement, database_->prepare("SELECT incarnation, first_seq, last_seq, records FROM gap "
                                                "ORDER BY rowid"));
  std::vector<Gap> gaps;
  for (;;) {
    WATTLE_TRY(const bool row, statement.step());
    if (!row) return gaps;
    gaps.push_back({loaded(statement.integer(0)), loaded(statement.integer(1)), loaded(statement.integer(2)),
                    loaded(statement.integer(3))});
  }
}

Status RecordTable::apply(const TableChange& change) {
  WATTLE_TRY(auto transaction, Transaction::begin(*database_));
  for (const auto& [first, last] : change.remove) {
    remove_->bind(1, first);
    remove_->bind(2, last);
    WATTLE_CHECK(remove_->run());
  }
  if (change.gaps != nullptr) WATTLE_CHECK(replace_gaps(*change.gaps));
  std::int64_t id = change.next_id;
  for (const EncodedRecord& record : change.add) WATTLE_CHECK(insert(id++, record));
  return transaction.commit();
}

Status RecordTable::insert(std::int64_t id, const EncodedRecord& record) {
  insert_->bind(1, id);
  insert_->bind(2, stored(record.mark.incarnation));
  insert_->bind(3, stored(record.mark.seq));
  insert_->bind(4, record_hash(record.mark, record.bytes));
  insert_->bind(5, std::string_view(record.bytes));
  return insert_->run();
}

Status RecordTable::replace_gaps(const std::vector<Gap>& gaps) {
  WATTLE_CHECK(database_->run("DELETE FROM gap"));
  WATTLE_TRY(auto statement, database_->prepare("INSERT INTO gap VALUES(?,?,?,?)"));
  for (const Gap& gap : gaps) {
    statement.bind(1, stored(gap.incarnation));
    statement.bind(2, stored(gap.first_seq));
    statement.bind(3, stored(gap.last_seq));
    statement.bind(4, stored(gap.records));
    WATTLE_CHECK(statement.run());
  }
  return {};
}

Result<std::vector<RecordTable::Body>> RecordTable::read(std::int64_t first, std::int64_t last, std::size_t most_bytes,
                                                         bool& whole) {
  std::vector<Body> bodies;
  std::size_t bytes = 0;
  read_->bind(1, first);
  read_->bind(2, last);
  whole = false;
  while (bytes < most_bytes) {
    WATTLE_TRY(const bool row, read_->step());
    if (!row) {
      whole = true;
      break;
    }
    const std::string_view body = read_->blob(4);
    bytes += body.size();
    const RecordMark mark{loaded(read_->integer(1)), loaded(read_->integer(2))};
    const bool sound = record_hash(mark, body) == read_->integer(3);
    bodies.push_back({read_->integer(0), sound ? std::string(body) : std::string()});
  }
  read_->reset();
  return bodies;
}

}  // namespace wattle::sqlite
