// doctor: which sources this node gives, which it does not, why, and what would mend it.
// Threads  values; examine() from any
#pragma once

#include <string>
#include <vector>

#include "agent/roots.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct Finding {
  std::string source;  // "rapl", "cgroup", "psi"
  bool ok = false;
  bool optional = true;  // the agent is of use without it
  std::string why;       // what was found, or what is wrong
  std::string mend;      // empty when ok, or when nothing can be done

  // "rapl: lost: /sys/class/powercap: No such file or directory (virtual machines have no RAPL)"
  std::string text() const;
};

// Opens and reads every source once.
std::vector<Finding> examine(const Roots& roots);

// Nothing that the agent cannot do without is lost.
bool healthy(const std::vector<Finding>& findings);

}  // namespace wattle::agent
