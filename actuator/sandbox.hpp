// sandbox: what the process gives up once all is open: every capability, and every system call that its loop does not need.
//          The helper that speaks to systemd may make AF_UNIX sockets besides
// Source   capabilities(7), seccomp(2) by libseccomp; it writes cgroup files as their owner, for which no capability is asked
// Errors   denied, unsupported; a call that is not on the list fails with EPERM
// Threads  those of the process: to be called while there is one
#pragma once

#include "common/result.hpp"

namespace wattle::actuator {

enum class Work { limits, units };

Status give_up_rights(Work work);

}  // namespace wattle::actuator
