// change_log: keeps the audit log of changes to the spec in force (time, author, reason) and of refused requests.
// Source   the control file, or memory if there is none
// Full     a change that must apply although the file cannot be written stays in memory. write_late() writes these
//          changes in order, before all others
// Bounds   the newest kRecent in memory, more in the file; at most kMostUnwritten unwritten changes, the oldest are
//          dropped
// Errors   those of the control file; the change is then not recorded
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
  // `path` empty: changes are lost at exit.
  static Result<ChangeLog> open_(const std::string& path, const Clock& clock, const Log& log);

  // Returns the change in force when the previous process ended; no value on the first start.
  Result<std::optional<Change>> last();
  // Sets time and number of the change, and writes it.
  Status record(Change& change);
  // Same as record(), but the change applies even if the file cannot be written: then it is logged and waits for
  // write_late().
  void record_anyway(Change& change);
  // Writes the unwritten changes; does nothing if there are none.
  Status write_late();
  std::size_t unwritten() const { return unwritten_.size(); }
  const std::optional<Error>& why_unwritten() const { return why_unwritten_; }  // of the last attempt
  // Returns the change with the given id, or the previous one with a spec.
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
