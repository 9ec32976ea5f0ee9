// change_log: the audit: who changed what is in force, when and why, and who was refused.
// Source   the control file; without one the process's own memory
// Full     what has to hold though the file does not take it is kept in memory, and written by write_late() in its order, before all else
// Bounds   the newest kRecent are at hand, the file has more; kMostUnwritten wait for the file, the oldest go
// Errors   those of the control file; then nothing was noted
// Threads  single owner
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/store/control_file.hpp"

namespace wattle::controller {

class ChangeLog {
 public:
  static constexpr std::size_t kRecent = 50, kMostUnwritten = 1000;
  // `path` empty: nothing outlives the process.
  static Result<ChangeLog> open_(const std::string& path, const Clock& clock, const Log& log);

  // What was in force when the process before ended; absent: it is the first.
  Result<std::optional<Change>> last();
  // Gives it time and number.
  Status record(Change& change);
  // The same, and it holds from now on though the file does not take it: then it is logged, and waits for write_late().
  void record_anyway(Change& change);
  // Writes what waits for the file; that of an empty queue does nothing.
  Status write_late();
  std::size_t unwritten() const { return unwritten_.size(); }
  const std::optional<Error>& why_unwritten() const { return why_unwritten_; }  // of the last attempt
  // The newest but one that something was in force from, or the one that is named.
  Result<std::optional<Change>> to_go_back_to(std::optional<std::int64_t> id);

  const std::vector<Change>& recent() const { return recent_; }  // oldest first
  ControlFile* file() { return file_ ? &*file_ : nullptr; }
  bool durable() const { return file_.has_value() && unwritten_.empty(); }
  std::int64_t now_s() const { return to_ns(clock_->wall()) / 1'000'000'000; }

 private:
  ChangeLog(const Clock& clock, const Log& log) : clock_(&clock), log_(&log) {}
  void note(const Change& change);

  const Clock* clock_;
  const Log* log_;
  std::optional<ControlFile> file_;
  std::deque<Change> unwritten_;  // oldest first
  std::optional<Error> why_unwritten_;
  std::int64_t last_id_ = 0;
  std::vector<Change> recent_;
};

}  // namespace wattle::controller
