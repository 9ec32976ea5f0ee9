// env_lines: serves environment requests over standard input and output, a line each.
// Errors   io: standard output
// Threads  main thread
#pragma once

#include <cerrno>
#include <cstdio>
#include <string>

#include "sim/env/env_protocol.hpp"

namespace wattle::sim::commands {

// Reads the next line, at most one byte longer than a request may be, and skips the rest of a longer one. Returns false
// at the end.
inline bool read_request_line(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getchar()) != EOF && c != '\n')
    if (line.size() <= kMaxRequestBytes) line += static_cast<char>(c);
  return c != EOF || !line.empty();
}

// Answers until the server is closed or the input ends. A blank line gets no answer.
template <class Server>
Status answer_lines(Server& server) {
  std::string line;
  while (!server.closed() && read_request_line(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = server.answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size() || std::fflush(stdout) != 0)
      return fail_errno(errno, "standard output");
  }
  return {};
}

}  // namespace wattle::sim::commands
