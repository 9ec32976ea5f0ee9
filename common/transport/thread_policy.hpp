// thread_policy: lets libzmq start threads where a system call filter denies sched_setscheduler.
// Why      libzmq sets the scheduling policy and priority that each of its threads already has, and aborts if that is
//          denied, as systemd's `SystemCallFilter=~@resources` does. Our pthread_setschedparam replaces libc's: it
//          skips calls that change nothing and forwards all others
// Threads  any
#pragma once

namespace wattle::transport {

// Does nothing; calling it links the replacement in.
void keep_thread_policy();

}  // namespace wattle::transport
