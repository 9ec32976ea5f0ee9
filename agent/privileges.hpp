// privileges: gives up every capability once all that needs one is open.
// Source   capabilities(7), prctl(2): effective, permitted, inheritable, ambient, bounding set, no_new_privs
// What for BPF programs load with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, energy_uj opens with CAP_DAC_READ_SEARCH, ICMP
//          sockets with CAP_NET_RAW; descriptors and mappings outlive them. What is lost later (a program unloaded by hand,
//          a counter file that has to be opened anew) stays lost until the agent is started again
// Errors   denied, naming what is left; read back from the kernel, not assumed
// Threads  capabilities are a thread's own: to be called while there is one
#pragma once

#include <string>
#include <vector>

#include "agent/finding.hpp"
#include "common/result.hpp"

namespace wattle::agent {

struct Privileges {
  std::vector<std::string> held;     // effective or permitted: "cap_bpf"
  std::vector<std::string> ambient;  // that a program started from here would have
  std::vector<std::string> bounding;
  bool no_new_privileges = false;
};

// Of the calling thread.
Privileges read_privileges();

// Gives up all of them, for good; what is returned was read back.
Result<Privileges> drop_privileges();

// For Hello and the log: "no capability is left".
Finding privileges_finding(const Result<Privileges>& dropped);

}  // namespace wattle::agent
