// descriptor_limit: raises the soft limit of open files to the hard limit, and restores it for programs that we start.
// Source   getrlimit(2), setrlimit(2) RLIMIT_NOFILE. containerd 2 and systemd start programs with a soft limit of
//          1,024, which protects programs that use select(2); ours do not. containerd 1 gives a limit of 10^9, and
//          programs that close every possible descriptor at their start then take minutes
// Gives    the limit now in force; 0 if it cannot be read
// Threads  any; call raise_descriptor_limit once at the start of each program that serves or connects to many peers
#pragma once

#include <cstdint>

namespace wattle {

std::uint64_t raise_descriptor_limit();

// For a child process, between fork and exec: lowers the soft limit to 1,024, if it is higher. Safe after a fork in a
// process with threads.
void lower_descriptor_limit();

}  // namespace wattle
