// log_lines: the log lines of a program.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "tests/unit/common/temp_dir.hpp"

namespace wattle::test {

// The lines that f writes to standard error.
template <class F>
std::vector<std::string> lines_of(F&& f) {
  const TempDir temp;
  const Fd before(::dup(STDERR_FILENO));
  const Fd into(::open(temp.file("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ::dup2(into.get(), STDERR_FILENO);
  f();
  ::dup2(before.get(), STDERR_FILENO);
  const std::string text = Dir::open_(temp.path())->read_file("log").value();
  std::vector<std::string> lines;
  parse::for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

}  // namespace wattle::test
