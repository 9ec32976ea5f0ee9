// sandbox: drops the rights that the process no longer needs once everything is open: all capabilities, and all system
// calls outside its loop. The helper for systemd may also create AF_UNIX sockets.
// Source   capabilities(7), seccomp(2) by libseccomp; cgroup files are written as their owner, which needs no
//          capability
// Errors   denied, unsupported; a forbidden call fails with EPERM
// Threads  affects the whole process: call while it has one thread
#pragma once

#include "common/result.hpp"

namespace wattle::actuator {

enum class Work { limits, units };

Status give_up_rights(Work work);

}  // namespace wattle::actuator
