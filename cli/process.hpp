// process: runs other programs, to their end or in the background.
// Errors   not_found (no such program), denied (it may not be run), io
// Threads  main only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::cli {

struct Ran {
  int code = 0;      // 128 + the signal's number if a signal ended the program
  std::string said;  // standard output and error; at most 1 MiB
};
// Runs a program to its end. A name without '/' is searched in PATH.
Result<Ran> run_program(const std::vector<std::string>& words);

// Like run_program, but captures only standard output. The program shares standard error, and standard input if
// `interactive`, with this process. Adds or replaces these variables of the environment. Ends a program that has not
// ended after `limit`, with Errc::timeout; 0: no limit.
Result<Ran> output_of(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment, bool interactive = false,
                      std::chrono::seconds limit = std::chrono::seconds(0));

// A process, identified so that a later one with the same number does not match.
struct Started {
  pid_t pid = 0;
  std::uint64_t since = 0;  // clock ticks after the boot
};
// Starts a program in its own session, with its outputs in the file.
Result<Started> start_program(const std::vector<std::string>& words, const std::string& log_file);
// A program that ends when this process ends, for any reason.
struct Child {
  Started process;
  Fd output;  // its standard output and error
};
Result<Child> start_child(const std::vector<std::string>& words);
// False for processes that do not exist, and for zombies.
bool runs(const Started& process);
// Sends TERM, and KILL after `patience_s`.
void end_process(const Started& process, int patience_s);

std::int64_t unix_now_s();

// Returns the path of a Wattle program: beside this one, otherwise found in PATH.
std::string program_of_ours(const std::string& name);

}  // namespace wattle::cli
