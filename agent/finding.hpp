// finding: the state of a source, program or privilege of this node.
// Gives    one line for people and for Hello: "rapl: lost: /sys/class/powercap: No such file or directory (fix)"
// Threads  values
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace wattle::agent {

struct Finding {
  std::string source;  // "rapl", "cgroup", "psi"
  bool ok = false;
  bool optional = true;  // the agent is useful without it
  std::string why;       // the result, or the problem
  std::string fix;       // empty if ok, or if no fix is known
  bool absent = false;   // not ok, and the machine has no such source

  const char* state() const { return ok ? "ok" : absent ? "absent" : "lost"; }

  std::string text() const;
};

inline Finding usable(std::string source, std::string why, bool optional = true) {
  return {std::move(source), true, optional, std::move(why), ""};
}
// The machine lacks the source, and there is nothing to fix.
inline Finding absent(std::string source, const Error& error) {
  return {std::move(source), false, true, error.subject + ": " + error.what, "", true};
}
// Uses the fix in the error unless `fix` is given.
Finding lost(std::string source, const Error& error, bool optional = true, std::string fix = {});

}  // namespace wattle::agent
