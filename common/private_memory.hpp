// private_memory: protects the memory of a process that holds keys: no core file, and no access by other processes of
// its user.
// Source   setrlimit(2) RLIMIT_CORE, prctl(2) PR_SET_DUMPABLE
// Errors   none: a system call filter that denies these calls belongs to a unit that forbids core files itself
// Threads  call before the first key is read
#pragma once

namespace wattle {

void keep_memory_private();

}  // namespace wattle
