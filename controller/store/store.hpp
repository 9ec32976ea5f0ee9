// store: stores agents' records on a separate thread, and reports when they are safe on disk.
// Commits  the records of all agents within `commit_every` share one transaction (StoreFile); then committed() returns
//          them
// Bound    full() once the waiting records exceed `queue_bytes`
// Rows     of decisions, pods and needs are written every second (row_writer.hpp), because no caller waits for them
// Reads    run on the store's thread, between two transactions
// Trouble  if the disk is full or fails, nothing is reported as committed, and the same transaction is tried every
//          second until it succeeds. A damaged file is moved aside (<path>.damaged-<time>), never deleted, and a new
//          one starts with the known marks. figures() and the log report both
// Errors   start: denied, not_found, conflict (another process has the file), unsupported (a newer schema)
// Threads  full(), half_full(), add(), committed(), marks() of one thread; keep(), note(), read(), figures(),
//          recent_gaps() of any
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "controller/store/row_writer.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {

struct StoreOptions {
  StoreFileOptions file;
  Duration commit_every = std::chrono::milliseconds(50);
  Duration retry_every = std::chrono::seconds(1);
  std::size_t queue_bytes = 32 << 20;
  Duration decisions_every = std::chrono::seconds(1);
  std::size_t decisions_queue_bytes = 8 << 20;
  std::size_t decisions_found = 0;  // limit of those read at the start
  std::size_t pods_queue_bytes = 32 << 20;
  std::size_t pod_namespaces_found = 0;  // limit of those read at the start
};

struct StoreFigures {
  std::string problem;        // why nothing is committed now; empty: records are committed
  std::string damage;         // found in the file since the start; empty: none
  std::uint64_t records = 0;  // committed
  std::uint64_t queue_records = 0, queue_bytes = 0;
  std::uint64_t file_bytes = 0, raw_records = 0;
  std::uint64_t gap_records = 0;  // noticed since the start
  std::string decisions_problem;  // why decisions are not kept now; empty: no problem
  std::uint64_t decisions_lost = 0;
};

struct Committed {
  std::string node;
  RecordMark last;
  std::size_t records = 0;
};

class Store final : public RecordStore {
 public:
  static Result<std::unique_ptr<Store>> start(StoreOptions options, const Clock& clock, const Log& log);
  // Returns a store that keeps nothing. Do not call add(), read() or copy_to().
  static std::unique_ptr<Store> none(const Clock& clock, const Log& log);
  bool on() const { return writer_.joinable(); }
  ~Store() override;  // tries once to write the pending rows

  // Content of the file at the start; decisions are newest first.
  const StoreMarks& marks() const { return found_; }
  // Decisions in the file at the start; newest first.
  const std::vector<DecisionRow>& decisions_found() const { return decisions_found_; }
  std::uint64_t last_decision_id() const { return last_decision_id_; }
  const std::vector<RequestRow>& requests_found() const { return requests_found_; }
  // UID and namespace, the most recently used first.
  const std::vector<std::pair<std::string, std::string>>& pod_namespaces_found() const { return pod_namespaces_found_; }
  // Pods that ran when the file was last written.
  const std::vector<PodFacts>& running_found() const { return running_found_; }
  bool full() const override;
  bool half_full() const;
  // Puts more records into each transaction, which costs less per record and delays acknowledgements.
  void batch_more(bool more) { batches_more_ = more; }
  void add(StoreItem item) override;
  // Stores a decision or an update of it; never waits.
  void keep(DecisionRow row);
  // Stores a workload's owner or placement; never waits.
  void note(PodFacts pod);
  // Replaces the known needs of workloads; never waits.
  void keep(std::vector<RequestRow> rows);
  // A function that the store's thread runs on the file; fd() becomes readable afterwards.
  using Read = std::function<Result<std::string>(StoreFile&)>;
  std::future<Result<std::string>> read(Read make);
  // Readable when results can be taken.
  int fd() const { return fd_.get(); }
  // Takes the commits since the last call, in order; consecutive records of a node and incarnation are merged.
  std::vector<Committed> committed();
  // Copies the file between commits, one copy at a time. A broken future means that the store ended first.
  std::future<Status> copy_to(std::string path);
  StoreFigures figures() const;
  std::vector<StoreGap> recent_gaps() const;  // oldest first

 private:
  Store(StoreOptions options, const Clock& clock, const Log& log, Fd fd)
      : options_(std::move(options)),
        clock_(clock),
        log_(log),
        fd_(std::move(fd)),
        rows_(options_.decisions_queue_bytes, options_.pods_queue_bytes, log) {}
  Status open_file();
  Status look_for_damage();
  void run();
  void keep_batch(std::vector<StoreItem>& batch);
  struct Reading {
    Read make;
    std::promise<Result<std::string>> answer;
  };
  struct Work {
    std::vector<StoreItem> batch;
    bool rows = false;      // rows are due
    bool all_rows = false;  // all of them must be written
    std::vector<Reading> reads;
  };
  // No value when the store ends.
  std::optional<Work> wait();
  void wake();
  void write_rows(bool all);
  void answer(std::vector<Reading> reads);
  void refuse_reads(const Error& why);
  void signal();
  void copy_some();
  Result<bool> copy_part(const std::string& path);
  Status commit(const std::vector<StoreItem>& batch);
  Status watch_clock();
  void report_committed(const std::vector<StoreItem>& batch);
  void trouble(const Error& error);
  std::int64_t now_s() const { return to_ns(clock_.wall()) / 1'000'000'000; }

  const StoreOptions options_;
  const Clock& clock_;
  const Log& log_;
  Fd fd_;
  StoreMarks found_;
  std::vector<DecisionRow> decisions_found_;
  std::uint64_t last_decision_id_ = 0;
  std::vector<RequestRow> requests_found_;
  std::vector<std::pair<std::string, std::string>> pod_namespaces_found_;
  std::vector<PodFacts> running_found_;

  std::optional<StoreFile> file_;  // the next five belong to the writer
  StoreMarks known_;               // committed; taken over by a new file
  MonoTime committed_at_{}, rows_at_{};
  std::optional<sqlite::Copy> copy_;
  std::optional<std::int64_t> clock_ahead_s_;  // the wall clock ahead of the monotonic one

  RowWriter rows_;
  std::atomic<bool> batches_more_ = false;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable wake_;
  bool stop_ = false;
  struct CopyOrder {
    std::string path;
    std::promise<Status> done;
  };
  std::optional<CopyOrder> copy_order_;
  std::vector<StoreItem> queue_;
  std::vector<Reading> reads_;
  std::vector<Committed> committed_;
  std::deque<StoreGap> recent_gaps_;
  StoreFigures figures_;

  std::thread writer_;
};

}  // namespace wattle::controller
