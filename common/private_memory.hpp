// private_memory: a process that holds keys leaves none behind: no core file, and no other process of its user looks into it.
// Source   setrlimit(2) RLIMIT_CORE, prctl(2) PR_SET_DUMPABLE
// Errors   none: who may not (a filter of system calls) is in a unit that forbids core files itself
// Threads  before the first key is read
#pragma once

namespace wattle {

void keep_memory_private();

}  // namespace wattle
