// recorder: `wattle-agent sample`: writes samples of all workloads or one to stdout or a file.
// Gives    JSON lines or CSV (render.hpp); each sample is written as a whole and immediately. If the disk is full, an
//          incomplete sample is removed from the file, so that the last line is whole
// Errors   a file that cannot be opened or written, by name; not_found if the requested workload never appeared
// Threads  the caller's, and the prober's
#pragma once

#include <cstdint>
#include <string>

#include "agent/config.hpp"
#include "agent/render.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// Writes lines to a descriptor and reports write errors.
class LineFile {
 public:
  static Result<LineFile> create(const std::string& path);  // truncates an existing file
  static LineFile standard_output();
  // Waits for a slow reader until `stop_fd` is readable; then writes no more.
  Status write(std::string_view lines, int stop_fd = -1);
  // Syncs the file to the disk.
  Status finish();

 private:
  LineFile(Fd fd, std::string name, bool regular) : fd_(std::move(fd)), name_(std::move(name)), regular_(regular) {}
  Fd fd_;
  std::string name_;
  bool regular_;
  std::int64_t written_bytes_ = 0;
};

struct RecorderOptions {
  std::uint64_t count = 1;
  bool json = true;
  std::string file;  // empty: stdout
  WorkloadFilter filter;
};

Status record_samples(const AgentConfig& config, const RecorderOptions& options, const Clock& clock, const Log& log);

}  // namespace wattle::agent
