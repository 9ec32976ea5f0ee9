// privileges: drops every capability after everything that needs one has been opened.
// Source   capabilities(7), prctl(2): effective, permitted, inheritable, ambient, bounding set, no_new_privs
// Needs    BPF programs load with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, energy_uj opens with CAP_DAC_READ_SEARCH,
//          ICMP sockets with CAP_NET_RAW. Descriptors and mappings stay valid. A source that fails later (an unloaded
//          program, a counter file that must be reopened) stays lost until the agent restarts
// Errors   denied, naming the remaining capabilities, as read back from the kernel
// Threads  capabilities belong to a thread: call while there is only one
#pragma once

#include <string>
#include <vector>

#include "agent/finding.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct Privileges {
  std::vector<std::string> held;     // effective or permitted: "cap_bpf"
  std::vector<std::string> ambient;  // inherited by programs started from here
  std::vector<std::string> bounding;
  bool no_new_privileges = false;
};

// Reads those of the calling thread.
Privileges read_privileges();

// Drops all of them permanently, and returns the state read back.
Result<Privileges> drop_privileges();

// For Hello and the log: "no capability is left".
Finding privileges_finding(const Result<Privileges>& dropped);

}  // namespace wattle::agent
