// thread_policy: lets libzmq start its threads where a filter of system calls refuses sched_setscheduler.
// Why      libzmq sets in each of its threads the scheduling policy and priority that the thread has already, and aborts the
//          process on a refusal; `SystemCallFilter=~@resources` of systemd refuses. This program's own pthread_setschedparam stands
//          before libc's: what asks for no change is done without the kernel, all else is handed on
// Threads  any
#pragma once

namespace wattle::transport {

// Does nothing; whoever calls it has the above linked in.
void keep_thread_policy();

}  // namespace wattle::transport
