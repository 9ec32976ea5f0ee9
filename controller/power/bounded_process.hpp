// bounded_process: runs a program with a time limit and bounded output, in a separate process group that is killed when
// the program ends or the limit passes.
// Gives    the program PATH, HOME and LANG of this process and no other variable; its standard input is a file in
//          memory
// Errors   not_found (no such program), denied (it may not be run), timeout (killed at the limit; keeps the output), io
// Threads  any; the calling thread must live until the program ends, because the program is killed with it
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "controller/power/time_left.hpp"

namespace wattle::controller::power {

struct Program {
  std::vector<std::string> words;  // a name without '/' is searched in PATH
  std::string input = {};          // its standard input
  // Content of kSecretFile, which exists only for this program and never on a disk.
  std::optional<std::string> secret = {};
};
inline constexpr const char* kSecretFile = "/dev/fd/3";

struct ProgramEnd {
  int code = 0;        // 128 + the signal's number if a signal ended the program
  std::string output;  // the first 64 KiB of its standard output
  std::string errors;  // the last 64 KiB of its standard error
};

Result<ProgramEnd> run_bounded(const Program& program, const TimeLeft& time);

}  // namespace wattle::controller::power
