// recorder: `wattle-agent sample`: samples to stdout or a file, of everything or of one workload.
// Gives    JSON lines or CSV (render.hpp); each sample is written whole and at once. What of a sample does not fit on a
//          full disk is cut off the file again, so that its last line is whole
// Errors   what cannot be opened or written, by its name; not_found when the workload that was asked for never was there
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

// Lines on a descriptor, told when they cannot be written.
class LineFile {
 public:
  static Result<LineFile> create(const std::string& path);  // empties what is there
  static LineFile standard_output();
  // A reader that takes nothing is waited for until `stop_fd` is readable; then it gets no more.
  Status write(std::string_view lines, int stop_fd = -1);
  // What was written is on the disk.
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
