// row_writer: queues and writes rows that no caller waits for: decisions, pods and needs of workloads.
// Rows     one row per decision, pod and workload: a later one replaces or extends a waiting one. Each kind is written
//          in a separate transaction
// Bounds   bytes of decisions, beyond which the oldest are dropped, and of pods, beyond which new ones are dropped;
//          RequestTable::kMostRows needs
// Errors   rows that the disk does not take wait for the next attempt; the log reports failures and losses
// Threads  keep(), note(), waits(), fails() and figures() from any; write() and clear() from the store's own
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {

struct RowFigures {
  std::string decisions_problem;  // why no decision is kept now; empty: they are kept
  std::uint64_t decisions_lost = 0;
};

class RowWriter {
 public:
  RowWriter(std::size_t decisions_bytes, std::size_t pods_bytes, const Log& log)
      : most_decisions_bytes_(decisions_bytes), most_pods_bytes_(pods_bytes), log_(log) {}

  void keep(DecisionRow row);
  void note(PodFacts pod);
  void keep(std::vector<RequestRow> rows);
  bool waits() const;
  // Writes the waiting rows; `all` false: only a limited number of pods, to keep transactions short. `file` is null if
  // it cannot be opened; `opened` has the reason. Returns the last error.
  Status write(StoreFile* file, const Status& opened, std::int64_t now_s, bool all);
  // True if the last attempt failed.
  bool fails() const;
  void clear();
  RowFigures figures() const;

 private:
  // The rows of one kind, by their key.
  template <class Key, class Row>
  struct Queue {
    std::map<Key, Row> rows;
    std::size_t bytes = 0;
    std::string problem;       // of the last attempt; empty: none
    bool loss_logged = false;  // since rows were last written

    void add(Row row);
    std::vector<Row> take(std::size_t most);
    // Returns unwritten rows to the queue, before those added since.
    void put_back(std::vector<Row> older);
  };
  enum class News { none, failed, recovered };
  void drop_oldest_decisions();
  template <class Rows, class Put>
  News attempt(Rows& queue, std::size_t most, Status& last, const Put& put);

  const std::size_t most_decisions_bytes_, most_pods_bytes_;
  const Log& log_;
  mutable std::mutex mutex_;  // guards all members below
  Queue<std::uint64_t, DecisionRow> decisions_;
  Queue<std::string, PodFacts> pods_;
  Queue<std::string, RequestRow> requests_;
  std::uint64_t decisions_lost_ = 0;
};

}  // namespace wattle::controller
