// process: other programs, run to their end or left to run.
// Errors   not_found (no such program), denied (it may not be run), io
// Threads  main only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace wattle::cli {

struct Ran {
  int code = 0;      // 128 and the signal's number for one that a signal ended
  std::string said;  // on both outputs; at most 64 KiB
};
// By PATH where the name has no '/'.
Result<Ran> run_program(const std::vector<std::string>& words);

// The same of standard output alone; standard error is this process's, and so is standard input where it is `interactive`. The
// environment gets these, or has them changed.
Result<Ran> output_of(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment, bool interactive = false);

// A process that cannot be taken for a later one with the same number.
struct Started {
  pid_t pid = 0;
  std::uint64_t since = 0;  // clock ticks after the boot
};
// In a session of its own, its outputs into the file.
Result<Started> start_program(const std::vector<std::string>& words, const std::string& log_file);
// Absent processes do not run; neither do those that have ended and were not waited for.
bool runs(const Started& process);
// TERM, and KILL after `patience_s`.
void end_process(const Started& process, int patience_s);

// A program of ours: beside this one, else by PATH.
std::string program_of_ours(const std::string& name);

}  // namespace wattle::cli
