// finding: what a source, program or privilege of this node was found to be.
// Gives    one line for people and for Hello: "rapl: lost: /sys/class/powercap: No such file or directory (mend)"
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
  bool optional = true;  // the agent is of use without it
  std::string why;       // what was found, or what is wrong
  std::string mend;      // empty when ok, or when nothing can be done
  bool absent = false;   // not ok, and this machine never had it

  const char* state() const { return ok ? "ok" : absent ? "absent" : "lost"; }

  std::string text() const;
};

inline Finding usable(std::string source, std::string why, bool optional = true) {
  return {std::move(source), true, optional, std::move(why), ""};
}
// Not on this machine, and nothing to fix.
inline Finding absent(std::string source, const Error& error) {
  return {std::move(source), false, true, error.subject + ": " + error.what, "", true};
}
// The error's own mend, unless a better one is known.
Finding lost(std::string source, const Error& error, bool optional = true, std::string mend = {});

}  // namespace wattle::agent
