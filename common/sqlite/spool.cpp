#include "common/sqlite/spool.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "common/dir.hpp"
#include "common/wire/codec.hpp"

namespace wattle::sqlite {

namespace {
constexpr Duration kRetryEvery = std::chrono::seconds(5);
constexpr int kOpensBeforeGivingUp = 3;
constexpr std::size_t kCommitRecords = 32;
constexpr std::uint64_t kRemoveBatch = 32;
constexpr std::size_t kRecentRecords = 64;
constexpr std::uint64_t kRecentBytes = 256 << 10;
constexpr std::uint64_t kLogBytes = 4 << 20;
constexpr std::uint64_t kSegments = 32;
constexpr const char* kOpenMark = "-open";
constexpr std::uint64_t kLogHeaderBytes = 32;  // sqlite.org/fileformat2.html, "WAL File Format"

struct Opened {
  RecordTable table;
  std::deque<StoredRecord> records;
  std::vector<Gap> gaps;
};

Result<Opened> open_file(const SpoolOptions& options) {
  WATTLE_TRY(auto table, RecordTable::open_(options.path, options.database));
  WATTLE_TRY(auto records, table.list());
  WATTLE_TRY(auto gaps, table.gaps());
  return Opened{std::move(table), std::move(records), std::move(gaps)};
}

template <class Container>
auto find_mark(Container& records, const RecordMark& mark) {
  const auto at = std::lower_bound(records.begin(), records.end(), mark,
                                   [](const auto& record, const RecordMark& wanted) { return record.mark < wanted; });
  return at != records.end() && at->mark == mark ? at : records.end();
}
}  // namespace

Result<std::unique_ptr<Spool>> Spool::open_(SpoolOptions options, const Clock& clock) {
  std::unique_ptr<Spool> spool(new Spool(std::move(options), clock));
  spool->look_for_loss();
  if (const auto opened = spool->open_table(); !opened) {
    const Errc code = opened.error().code;
    if (code != Errc::exhausted && code != Errc::io && code != Errc::malformed)
      return tl::unexpected<Error>(opened.error());
    spool->refuse(opened.error());
  }
  return spool;
}

Spool::~Spool() {
  if (!table_ || trouble_) return;
  remove_now_ = true;
  commit();
  if (trouble_) return;
  if (!options_.database.vfs.empty()) return;
  // SQLite removes the log once it has moved all of it into the file.
  table_.reset();
  if (::access((options_.path + "-wal").c_str(), F_OK) != 0) ::unlink((options_.path + kOpenMark).c_str());
}

// Runs before SQLite, which treats a missing log as one that was not needed.
void Spool::look_for_loss() {
  if (!options_.database.vfs.empty()) return;
  const auto bytes = [](const std::string& path) -> std::optional<std::uint64_t> {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(info.st_size);
  };
  const std::string lost = "earlier records that the controller had not acknowledged may be missing";
  const auto file = bytes(options_.path);
  const bool was_open = bytes(options_.path + kOpenMark).has_value();
  if (file ? *file == 0 : was_open)
    news_.push_back(
        {Errc::malformed, options_.path, file ? "is empty, possibly after a power failure" : "is missing", lost});
  else if (was_open && bytes(options_.path + "-wal").value_or(0) < kLogHeaderBytes)
    news_.push_back({Errc::malformed, options_.path + "-wal",
                     "is missing although the previous process did not stop normally: at most the last " +
                         std::to_string(kLogBytes >> 20) + " MiB of commits are lost",
                     lost});
}

Status Spool::open_table() {
  auto opened = open_file(options_);
  if (!opened && opened.error().code == Errc::malformed) {
    WATTLE_CHECK(move_aside(opened.error()));
    opened = open_file(options_);
  }
  if (!opened) return tl::unexpected<Error>(opened.error());
  table_.emplace(std::move(opened->table));
  pages_at_checkpoint_ = 0;
  adopt(std::move(opened->records), std::move(opened->gaps));
  return {};
}

Status Spool::move_aside(const Error& why) {
  const std::string aside = options_.path + ".damaged";
  for (const char* suffix : {"", "-wal"}) {
    if (std::rename((options_.path + suffix).c_str(), (aside + suffix).c_str()) == 0) continue;
    if (errno == ENOENT) continue;
    return fail_errno(errno, options_.path + suffix, "the file is damaged; move it away by hand");
  }
  news_.push_back(why);
  news_.back().fix = "moved to " + aside + "; its unacknowledged records are lost";
  // A new file gets the readable records.
  auto table = RecordTable::open_(options_.path, options_.database);
  const auto copied = table ? table->salvage(aside) : forward_error(table);
  if (!copied || copied->kept == 0) return {};
  dropped_ += copied->lost.value_or(0);
  news_.back().fix = "moved to " + aside + "; " + std::to_string(copied->kept) + " readable records are kept, " +
                     (copied->lost ? std::to_string(*copied->lost) + " between them are" : "others may be") +
                     " lost; check the disk (dmesg)";
  return {};
}

// Compares the file's content with the known content: nothing at the start of the process, otherwise everything.
void Spool::adopt(std::deque<StoredRecord> found, std::vector<Gap> gaps) {
  const bool fresh = !opened_once_ && handed_out_ == RecordMark{};
  std::deque<StoredRecord> known = std::exchange(stored_, {});
  std::deque<StoredRecord> strange;
  remove_.clear();
  removable_ = removable_cost_ = stored_cost_ = 0;
  next_id_ = found.empty() ? 1 : found.back().id + 1;
  for (const StoredRecord& record : found) {
    const auto written = find_mark(waiting_, record.mark);  // written by a commit that reported failure
    if (fresh || find_mark(known, record.mark) != known.end() || written != waiting_.end()) {
      stored_.push_back(record);
      stored_cost_ += cost(record.bytes);
      if (written != waiting_.end()) {
        waiting_bytes_ -= written->bytes.size();
        waiting_.erase(written);
      }
    } else {
      // Acknowledged or given up in the meantime, or newer records were sent before this one could be read.
      if (!opened_once_) strange.push_back(record);
      mark_removable(record);
    }
  }
  for (const StoredRecord& record : known)
    if (find_mark(stored_, record.mark) == stored_.end()) count_lost(record.mark);
  for (const StoredRecord& record : strange) count_lost(record.mark);
  if (!opened_once_) {
    for (Gap& gap : gaps) gaps_.push_back(gap);
    std::sort(gaps_.begin(), gaps_.end(), [](const Gap& a, const Gap& b) {
      return std::pair(a.incarnation, a.first_seq) < std::pair(b.incarnation, b.first_seq);
    });
  }
  gaps_changed_ = remove_now_ = true;
  recent_.clear();
  recent_bytes_ = 0;
  if (fresh && !stored_.empty()) {
    last_ = std::max(last_, stored_.back().mark);
    // The previous process may have sent up to this much; how much arrived is unknown.
    std::uint64_t bytes = 0;
    for (const StoredRecord& record : stored_) {
      bytes += record.bytes;
      if (bytes > options_.memory_bytes / 2 && handed_out_ != RecordMark{}) break;
      handed_out_ = record.mark;
    }
  }
  opened_once_ = true;
}

Status Spool::push(const Record& record) {
  const RecordMark mark{record.incarnation, record.seq};
  if (mark <= last_)
    return fail(Errc::conflict, options_.path,
                "record " + std::to_string(mark.incarnation) + ":" + std::to_string(mark.seq) + " is not behind " +
                    std::to_string(last_.incarnation) + ":" + std::to_string(last_.seq));
  waiting_.push_back({mark, wire::encode_record(record), record.part});
  waiting_bytes_ += waiting_.back().bytes.size();
  last_ = mark;
  if (trouble_)
    drop_waiting(options_.memory_bytes);
  else if (due())
    commit();
  return {};
}

void Spool::take(std::vector<EncodedRecord> records) {
  if (records.empty()) return;
  last_ = records.back().mark;
  for (EncodedRecord& record : records) {
    waiting_bytes_ += record.bytes.size();
    waiting_.push_back(std::move(record));
  }
  if (trouble_)
    drop_waiting(options_.memory_bytes);
  else
    commit();
}

bool Spool::due() const {
  if (waiting_.empty())
    return commits_ > 0 && removable_ >= kRemoveBatch && clock_.mono() - committed_at_ >= options_.commit_every;
  return commits_ == 0 || waiting_.size() >= kCommitRecords || waiting_bytes_ >= kRecentBytes ||
         clock_.mono() - committed_at_ >= options_.commit_every;
}

void Spool::maintain() {
  if (trouble_) {
    if (clock_.mono() >= retry_at_) retry();
  } else if (due()) {
    commit();
  }
}

Duration Spool::patience() const {
  const MonoTime now = clock_.mono();
  if (trouble_) return std::max(Duration{0}, retry_at_ - now);
  if (waiting_.empty()) return std::chrono::seconds(60);
  return std::max(Duration{0}, committed_at_ + options_.commit_every - now);
}

// Writes all changes in one transaction; the state in memory is correct whether it succeeds or fails.
void Spool::commit() {
  make_room();
  TableChange change;
  change.next_id = next_id_;
  change.add = waiting_;
  if (gaps_changed_) change.gaps = &gaps_;
  if (remove_now_ || removable_ >= kRemoveBatch ||
      stored_cost_ + removable_cost_ + cost_of_waiting() > options_.max_bytes)
    change.remove = remove_;
  if (!change.add.empty() || !change.remove.empty() || gaps_changed_) {
    if (const auto applied = table_->apply(change); !applied) return refuse(applied.error());
    ++commits_;
    // Created only once the log holds data. If the disk refuses it, only the message about a loss is missing.
    if (!std::exchange(marked_open_, true) && options_.database.vfs.empty())
      static_cast<void>(write_file_atomically(options_.path + kOpenMark, "", 0600).has_value());
  }
  committed_at_ = clock_.mono();
  trouble_.reset();
  gaps_changed_ = false;
  if (!change.remove.empty()) {
    remove_.clear();
    removable_ = removable_cost_ = 0;
    remove_now_ = false;
  }
  for (EncodedRecord& record : waiting_) {
    stored_.push_back({next_id_++, record.mark, record.bytes.size()});
    stored_cost_ += cost(record.bytes.size());
    recent_bytes_ += record.bytes.size();
    recent_.push_back(std::move(record));
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  while (recent_.size() > kRecentRecords || recent_bytes_ > kRecentBytes) forget_recent();
  checkpoint_if_long();
}

void Spool::make_room() {
  if (stored_cost_ + cost_of_waiting() <= options_.max_bytes) return;
  const std::uint64_t goal = options_.max_bytes - options_.max_bytes / kSegments;
  const std::size_t first = first_behind(handed_out_);
  std::size_t last = first;
  while (last < stored_.size() && stored_cost_ + cost_of_waiting() > goal) {
    const StoredRecord& record = stored_[last++];
    stored_cost_ -= cost(record.bytes);
    mark_removable(record);
    count_lost(record.mark);
  }
  remove_now_ = remove_now_ || first != last;
  while (recent_.size() > stored_.size() - last) forget_recent();
  stored_.erase(stored_.begin() + static_cast<std::ptrdiff_t>(first),
                stored_.begin() + static_cast<std::ptrdiff_t>(last));
  while (recent_.size() > stored_.size()) forget_recent();
  while (stored_cost_ + cost_of_waiting() > options_.max_bytes && !waiting_.empty()) drop_waiting(waiting_bytes_ - 1);
}

// Drops the oldest records that were not handed out; if all were, the oldest.
void Spool::drop_waiting(std::uint64_t until_bytes) {
  while (waiting_bytes_ > until_bytes && !waiting_.empty()) {
    auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const EncodedRecord& record) { return record.mark > handed_out_; });
    if (oldest == waiting_.end()) oldest = waiting_.begin();
    count_lost(oldest->mark);
    waiting_bytes_ -= oldest->bytes.size();
    waiting_.erase(oldest);
  }
}

void Spool::mark_removable(const StoredRecord& record) {
  ++removable_;
  removable_cost_ += cost(record.bytes);
  if (!remove_.empty() && remove_.back().second + 1 == record.id)
    remove_.back().second = record.id;
  else
    remove_.emplace_back(record.id, record.id);
}

void Spool::forget_recent() {
  recent_bytes_ -= recent_.front().bytes.size();
  recent_.pop_front();
}

void Spool::count_lost(const RecordMark& mark) {
  ++dropped_;
  gaps_changed_ = true;
  const auto behind = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
    return std::pair(gap.incarnation, gap.first_seq) > std::pair(mark.incarnation, mark.seq);
  });
  if (behind != gaps_.begin()) {
    Gap& before = *std::prev(behind);
    if (before.incarnation == mark.incarnation && before.last_seq + 1 == mark.seq) {
      before.last_seq = mark.seq;
      ++before.records;
      return;
    }
  }
  gaps_.insert(behind, {mark.incarnation, mark.seq, mark.seq, 1});
}

void Spool::checkpoint_if_long() {
  Database& database = table_->database();
  const std::uint64_t pages = database.pages_written();
  const std::uint64_t log_pages = pages - pages_at_checkpoint_;
  written_bytes_ += (pages - pages_counted_) * (database.page_bytes() + 24);
  pages_counted_ = pages;
  if (log_pages * database.page_bytes() < kLogBytes) return;
  pages_at_checkpoint_ = pages;
  if (const auto moved = table_->checkpoint(); !moved) return refuse(moved.error());
  written_bytes_ += std::min(log_pages, database.page_count()) * database.page_bytes();
}

Status Spool::empty_log() {
  if (!table_) return {};
  WATTLE_CHECK(table_->database().empty_log());
  pages_at_checkpoint_ = table_->database().pages_written();
  return {};
}

void Spool::refuse(const Error& error) {
  if (!trouble_ || trouble_->code != error.code) news_.push_back(error);
  trouble_ = error;
  retry_at_ = clock_.mono() + kRetryEvery;
  if (error.code == Errc::exhausted) return;
  // The state of pages that the system could not write is unknown, so the file is read again.
  table_.reset();
  pages_counted_ = pages_at_checkpoint_ = 0;
}

void Spool::retry() {
  if (!table_) {
    if (const auto opened = open_table(); !opened) {
      if (++failed_opens_ >= kOpensBeforeGivingUp) give_up_stored();
      return refuse(opened.error());
    }
    failed_opens_ = 0;
  }
  commit();
}

// Counts records on an unreadable disk as lost, except those that are also in memory.
void Spool::give_up_stored() {
  const std::size_t in_memory = stored_.size() - recent_.size();
  for (std::size_t at = 0; at < in_memory; ++at) count_lost(stored_[at].mark);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(recent_.begin()), std::make_move_iterator(recent_.end()));
  waiting_bytes_ += recent_bytes_;
  stored_.clear();
  recent_.clear();
  stored_cost_ = recent_bytes_ = 0;
}

std::vector<Error> Spool::news() { return std::exchange(news_, {}); }

std::uint64_t Spool::cost_of_waiting() const {
  std::uint64_t sum = 0;
  for (const EncodedRecord& record : waiting_) sum += cost(record.bytes.size());
  return sum;
}

// Space of a row in the file (sqlite.org/fileformat2.html, "B-tree Cell Format"): its share of a leaf, and overflow
// pages for what does not fit there.
std::uint64_t Spool::cost(std::uint64_t bytes) const {
  const std::uint64_t page = static_cast<std::uint64_t>(options_.database.page_bytes);
  const std::uint64_t payload = bytes + 40, most = page - 35, least = (page - 12) * 32 / 255 - 23;
  std::uint64_t local = payload, pages = 0;
  if (payload > most) {
    local = least + (payload - least) % (page - 4);
    if (local > most) local = least;
    pages = (payload - local + page - 5) / (page - 4);
  }
  const std::uint64_t cells = std::max<std::uint64_t>(1, (page - 12) / (local + 14));
  return pages * page + page / cells;
}

}  // namespace wattle::sqlite
