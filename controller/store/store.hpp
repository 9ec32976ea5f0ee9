// store: keeps what agents sent on a thread of its own, and tells when it is safe on disk.
// Commits  all agents' records of `commit_every` go into one transaction (StoreFile); committed() tells of them after it
// Bound    what waits: `queue_bytes` and what was added last; then it is full()
// Trouble  the disk is full or fails: nothing is told as committed, the same transaction is tried again every second
//          until it succeeds. A damaged file is moved aside (<path>.damaged-<time>), never deleted, and a new one begun
//          with the marks that are known. Both are logged, and told by figures()
// Errors   start: denied, not_found, conflict (another process has the file), unsupported (a newer schema)
// Threads  full(), half_full(), add(), committed(), marks() of one thread; figures(), recent_gaps() of any
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {

struct StoreOptions {
  StoreFileOptions file;
  Duration commit_every = std::chrono::milliseconds(50);
  Duration retry_every = std::chrono::seconds(1);
  std::size_t queue_bytes = 32 << 20;
};

struct StoreFigures {
  std::string problem;  // why nothing is committed at present; empty: all is well
  std::uint64_t commits = 0, commits_failed = 0, records = 0;
  std::uint64_t queue_records = 0, queue_bytes = 0;
  std::uint64_t file_bytes = 0, raw_records = 0;
  std::uint64_t gaps = 0, gap_records = 0;  // noticed since the start
  std::uint64_t damaged_files = 0;          // moved aside since the start
  double commit_s = 0, last_commit_s = 0;   // summed, and the last one's
};

struct Committed {
  std::string node;
  RecordMark last;
  std::size_t records = 0;
};

class Store final : public RecordStore {
 public:
  static Result<std::unique_ptr<Store>> start(StoreOptions options, const Clock& clock, const Log& log);
  ~Store() override;  // writes what waits, once

  // As found in the file at the start.
  const StoreMarks& marks() const { return found_; }
  bool full() const override;
  bool half_full() const;
  void add(StoreItem item) override;
  // Readable when there is something to take.
  int fd() const { return fd_.get(); }
  // What was committed since it was asked last, in order; consecutive records of a node and incarnation are one.
  std::vector<Committed> committed();
  StoreFigures figures() const;
  std::vector<StoreGap> recent_gaps() const;  // oldest first

 private:
  Store(StoreOptions options, const Clock& clock, const Log& log, Fd fd)
      : options_(std::move(options)), clock_(clock), log_(log), fd_(std::move(fd)) {}
  Status open_file();
  Status set_aside(const Error& why);
  void run();
  bool stopping() const;
  void keep(std::vector<StoreItem>& batch);
  Status commit(const std::vector<StoreItem>& batch);
  Status watch_clock();
  void told(const std::vector<StoreItem>& batch, Duration took);
  void trouble(const Error& error);
  std::int64_t now_s() const;

  const StoreOptions options_;
  const Clock& clock_;
  const Log& log_;
  Fd fd_;
  StoreMarks found_;

  std::optional<StoreFile> file_;  // the writer's, as are the next three
  StoreMarks known_;               // committed, for a file that is begun anew
  MonoTime committed_at_{};
  std::optional<std::int64_t> clock_ahead_s_;  // the wall clock, of the monotonic one

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<StoreItem> queue_;
  std::vector<Committed> committed_;
  std::deque<StoreGap> recent_gaps_;
  StoreFigures figures_;

  std::thread writer_;
};

}  // namespace wattle::controller
