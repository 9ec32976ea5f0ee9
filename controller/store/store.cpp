#include "controller/store/store.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "controller/store/store_repair.hpp"

namespace wattle::controller {
namespace {

constexpr std::int64_t kRecentGaps = 200;
constexpr int kMoreInABatch = 5;
constexpr std::int64_t kClockStep_s = 5;  // a smaller step of the wall clock does not count
// Approximate memory of an item in addition to its bytes and their decoded form.
constexpr std::size_t kItemOverhead = 512;
constexpr std::size_t kDecodedTimes = 4;
constexpr int kCopyPages = 256;               // 1 MiB between two commits
constexpr std::size_t kMaxReads = 64;         // that wait
constexpr std::size_t kMostRunning = 50'000;  // pods that are read at the start

std::size_t cost(const StoreItem& item) { return item.bytes.size() * (1 + kDecodedTimes) + kItemOverhead; }

}  // namespace

Result<std::unique_ptr<Store>> Store::start(StoreOptions options, const Clock& clock, const Log& log) {
  const std::string folder = options.file.path.substr(0, options.file.path.find_last_of('/') + 1);
  if (!folder.empty()) WATTLE_CHECK(make_dirs(folder, 0700));
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "eventfd");
  std::unique_ptr<Store> store(new Store(std::move(options), clock, log, std::move(fd)));
  WATTLE_CHECK(store->open_file());
  WATTLE_CHECK(store->look_for_damage());
  store->found_ = store->known_ = store->file_->marks();
  WATTLE_TRY(const auto gaps, store->file_->gaps(kRecentGaps));
  store->recent_gaps_.assign(gaps.begin(), gaps.end());
  DecisionTable& decisions = store->file_->decisions();
  WATTLE_TRY(auto newest, decisions.newest(0, store->options_.decisions_found));
  store->decisions_found_ = std::move(newest.rows);
  store->last_decision_id_ = decisions.last_id();
  WATTLE_TRY(store->requests_found_, store->file_->requests().all());
  if (const std::size_t most = store->options_.pod_namespaces_found; most > 0) {
    WATTLE_TRY(store->pod_namespaces_found_, store->file_->usage().pod_namespaces(most));
  }
  WATTLE_TRY(store->running_found_, store->file_->usage().running(kMostRunning));
  store->figures_.file_bytes = store->file_->file_bytes();
  store->figures_.raw_records = store->file_->raw_records();
  log.info("store.opened", "the store has been opened",
           {{"path", store->options_.file.path},
            {"nodes", static_cast<std::uint64_t>(store->found_.size())},
            {"records", store->figures_.raw_records},
            {"decisions", decisions.rows()},
            {"bytes", store->figures_.file_bytes}});
  store->writer_ = std::thread([raw = store.get()] { raw->run(); });
  return store;
}

std::unique_ptr<Store> Store::none(const Clock& clock, const Log& log) {
  return std::unique_ptr<Store>(new Store({}, clock, log, Fd()));
}

Store::~Store() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (writer_.joinable()) writer_.join();
}

Status Store::open_file() {
  WATTLE_TRY(OpenedStore opened, open_or_repair(options_.file, now_s(), log_));
  // A new file takes over the marks: agents no longer have the records that they cover.
  if (!known_.empty()) WATTLE_CHECK(opened.file.adopt(known_));
  file_.emplace(std::move(opened.file));
  if (!opened.damage) return {};
  const std::lock_guard lock(mutex_);
  figures_.damage = opened.damage->message();
  return {};
}

// Rows that the disk has changed are not used, and no later record replaces them.
Status Store::look_for_damage() {
  WATTLE_TRY(const std::string rows, file_->damaged_rows());
  if (rows.empty()) return {};
  const Error damage{Errc::malformed, options_.file.path, "has damaged rows: " + rows,
                     "check the disk; restore a copy (docs/how-to/back-up.md)"};
  WATTLE_CHECK(file_->note("damaged", damage.what, now_s()));
  figures_.damage = damage.message();
  log_.error("store.rows_damaged", "rows of the store are damaged, and figures that need them are incomplete",
             {{"error", damage}});
  return {};
}

bool Store::full() const {
  const std::lock_guard lock(mutex_);
  return figures_.queue_bytes >= options_.queue_bytes;
}

bool Store::half_full() const {
  const std::lock_guard lock(mutex_);
  return figures_.queue_bytes >= options_.queue_bytes / 2;
}

void Store::add(StoreItem item) {
  const std::size_t bytes = cost(item);
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    figures_.queue_bytes += bytes;
    ++figures_.queue_records;
    queue_.push_back(std::move(item));
    // Wakes the writer only for the first record and above half of the bound.
    wake = queue_.size() == 1 || figures_.queue_bytes > options_.queue_bytes / 2;
  }
  if (wake) wake_.notify_one();
}

std::vector<Committed> Store::committed() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(committed_, {});
}

StoreFigures Store::figures() const {
  const RowFigures rows = rows_.figures();
  const std::lock_guard lock(mutex_);
  StoreFigures figures = figures_;
  figures.decisions_problem = rows.decisions_problem;
  figures.decisions_lost = rows.decisions_lost;
  return figures;
}

std::vector<StoreGap> Store::recent_gaps() const {
  const std::lock_guard lock(mutex_);
  return {recent_gaps_.begin(), recent_gaps_.end()};
}

std::future<Result<std::string>> Store::read(Read make) {
  Reading reading{std::move(make), {}};
  auto answer = reading.answer.get_future();
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    taken = !stop_ && reads_.size() < kMaxReads;
    if (taken) reads_.push_back(std::move(reading));
  }
  if (taken) {
    wake_.notify_one();
  } else {
    reading.answer.set_value(
        fail(Errc::unavailable, options_.file.path, "too many readers, or the store is stopping", "retry"));
    signal();
  }
  return answer;
}

std::optional<Store::Work> Store::wait() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stop_ || copy_order_ || !queue_.empty() || rows_.waits() || !reads_.empty(); });
  const auto hurry = [&] {
    return stop_ || copy_order_ || !reads_.empty() || figures_.queue_bytes > options_.queue_bytes / 2;
  };
  // Records of other agents arrive meanwhile and share the commit.
  const Duration since = clock_.mono() - committed_at_;
  const Duration every = batches_more_ ? kMoreInABatch * options_.commit_every : options_.commit_every;
  if (!queue_.empty() && since < every) wake_.wait_for(lock, every - since, hurry);
  const Duration rows_since = clock_.mono() - rows_at_;
  bool due = stop_ || !reads_.empty() || rows_since >= options_.decisions_every;
  if (queue_.empty() && rows_.waits() && !due) {
    wake_.wait_for(lock, options_.decisions_every - rows_since, [&] { return hurry() || !queue_.empty(); });
    due = stop_ || !reads_.empty() || clock_.mono() - rows_at_ >= options_.decisions_every;
  }
  if (stop_ && queue_.empty() && !rows_.waits()) return std::nullopt;
  Work work;
  work.batch.swap(queue_);
  queue_.reserve(work.batch.size());  // the next batch is about as long
  work.reads.swap(reads_);
  work.rows = due;
  work.all_rows = stop_ || !work.reads.empty();
  return work;
}

void Store::run() {
  while (auto work = wait()) {
    if (!work->batch.empty()) {
      committed_at_ = clock_.mono();
      keep_batch(work->batch);
    }
    if (work->rows && rows_.waits()) write_rows(work->all_rows);
    answer(std::move(work->reads));
    copy_some();
    const std::lock_guard lock(mutex_);
    // Decisions that the disk does not take are dropped at the end.
    if (stop_ && queue_.empty() && (!rows_.waits() || rows_.fails())) break;
  }
  copy_.reset();
  refuse_reads({Errc::unavailable, options_.file.path, "the store is stopping", "retry"});
  // A controller that is killed adds these sums at its next start.
  if (file_)
    if (const Status written = file_->write_ledger(); !written) trouble(written.error());
}

void Store::keep(DecisionRow row) {
  if (options_.file.decisions.max_bytes == 0) return;
  rows_.keep(std::move(row));
  wake();
}

void Store::note(PodFacts pod) {
  if (!on() || pod.uid.empty()) return;
  rows_.note(std::move(pod));
  wake();
}

void Store::keep(std::vector<RequestRow> rows) {
  if (!on() || rows.empty()) return;
  rows_.keep(std::move(rows));
  wake();
}

// The lock makes a writer that has just found no rows wait before it is woken.
void Store::wake() {
  { const std::lock_guard lock(mutex_); }
  wake_.notify_one();
}

void Store::write_rows(bool all) {
  rows_at_ = clock_.mono();
  const Status opened = file_ ? Status() : open_file();
  const Status done = rows_.write(file_ ? &*file_ : nullptr, opened, now_s(), all);
  if (!done && done.error().code != Errc::exhausted) file_.reset();  // as in trouble()
  if (!file_) return;
  const std::lock_guard lock(mutex_);
  figures_.file_bytes = file_->file_bytes();
}

void Store::answer(std::vector<Reading> reads) {
  if (reads.empty()) return;
  for (Reading& reading : reads) {
    Status open = file_ ? Status() : open_file();
    reading.answer.set_value(open ? reading.make(*file_) : Result<std::string>(forward_error(open)));
  }
  signal();
}

void Store::refuse_reads(const Error& why) {
  std::vector<Reading> reads;
  {
    const std::lock_guard lock(mutex_);
    reads.swap(reads_);
  }
  for (Reading& reading : reads) reading.answer.set_value(tl::unexpected<Error>(why));
  if (!reads.empty()) signal();
}

void Store::signal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(fd_.get(), &one, sizeof one);
}

// Retries until the batch is on disk, or the store ends.
void Store::keep_batch(std::vector<StoreItem>& batch) {
  for (;;) {
    const Status done = commit(batch);
    if (done) {
      report_committed(batch);
      // Only acknowledgements of the next transaction wait for the checkpoint.
      if (const Status moved = file_->checkpoint_if_long(); !moved) trouble(moved.error());
      return;
    }
    trouble(done.error());
    refuse_reads(done.error());
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, options_.retry_every, [&] { return stop_; });
    if (!stop_) continue;
    log_.warn("store.stopped_early", "the store stops with unsaved records; the agents will send them again",
              {{"records", static_cast<std::uint64_t>(batch.size())}});
    queue_.clear();
    rows_.clear();
    return;
  }
}

Status Store::commit(const std::vector<StoreItem>& batch) {
  if (!file_) WATTLE_CHECK(open_file());
  WATTLE_CHECK(watch_clock());
  return file_->apply(batch, now_s());
}

// Corrects ages for changes of the wall clock, so that they do not shorten or extend how long records are kept.
Status Store::watch_clock() {
  const std::int64_t ahead_s = now_s() - to_ns(clock_.mono()) / 1'000'000'000;
  if (!clock_ahead_s_) clock_ahead_s_ = ahead_s;
  const std::int64_t by_s = ahead_s - *clock_ahead_s_;
  if (std::abs(by_s) < kClockStep_s) return {};
  WATTLE_CHECK(file_->clock_set(by_s, now_s()));
  clock_ahead_s_ = ahead_s;
  log_.warn("store.clock_set", "the wall clock was set", {{"by_s", by_s}});
  return {};
}

void Store::trouble(const Error& error) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(figures_.problem, error.message()) != figures_.problem;
  }
  if (news)
    log_.error("store.write_failed", "records cannot be written, and are not acknowledged until they are",
               {{"error", error}});
  // The state of pages that the system could not write is unknown, so the file is read again. So is a damaged one,
  // which open_file() moves aside.
  if (error.code == Errc::exhausted) return;
  copy_.reset();
  file_.reset();
}

void Store::report_committed(const std::vector<StoreItem>& batch) {
  std::vector<Committed> news;
  for (const StoreItem& item : batch) {
    if (news.empty() || news.back().node != item.node) known_[item.node] = file_->marks().at(item.node);
    if (!news.empty() && news.back().node == item.node && news.back().last.incarnation == item.mark.incarnation) {
      news.back().last = item.mark;
      ++news.back().records;
    } else {
      news.push_back({item.node, item.mark, 1});
    }
  }
  bool recovered = false;
  {
    const std::lock_guard lock(mutex_);
    recovered = !std::exchange(figures_.problem, {}).empty();
    figures_.records += batch.size();
    figures_.queue_records -= batch.size();
    for (const StoreItem& item : batch) {
      figures_.queue_bytes -= cost(item);
      if (!item.gap) continue;
      figures_.gap_records += item.gap->records();
      recent_gaps_.push_back(*item.gap);
      recent_gaps_.back().noticed_s = now_s();
      if (recent_gaps_.size() > static_cast<std::size_t>(kRecentGaps)) recent_gaps_.pop_front();
    }
    figures_.file_bytes = file_->file_bytes();
    figures_.raw_records = file_->raw_records();
    committed_.insert(committed_.end(), news.begin(), news.end());
  }
  if (recovered) log_.info("store.recovered", "records are written again", {{"path", options_.file.path}});
  signal();
}

std::future<Status> Store::copy_to(std::string path) {
  std::future<Status> done;
  {
    const std::lock_guard lock(mutex_);
    copy_order_.emplace(CopyOrder{std::move(path), {}});
    done = copy_order_->done.get_future();
  }
  wake_.notify_one();
  return done;
}

Result<bool> Store::copy_part(const std::string& path) {
  if (!file_) return fail(Errc::unavailable, options_.file.path, "cannot be read now", "see wattle doctor");
  if (!copy_) {
    WATTLE_TRY(copy_, file_->copy_to(path));
  }
  return copy_->step(kCopyPages);
}

void Store::copy_some() {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    if (!copy_order_) return;
    path = copy_order_->path;
  }
  const auto whole = copy_part(path);
  if (whole && !*whole) return;
  copy_.reset();
  const std::lock_guard lock(mutex_);
  copy_order_->done.set_value(whole ? Status() : tl::unexpected<Error>(whole.error()));
  copy_order_.reset();
}

}  // namespace wattle::controller
