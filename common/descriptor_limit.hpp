// descriptor_limit: raises the soft limit of open files to the hard limit.
// Source   getrlimit(2), setrlimit(2) RLIMIT_NOFILE. containerd 2 and systemd start programs with a soft limit of 1,024,
//          which is there for programs that use select(2); a program of ours may use all that it is granted
// Gives    the limit now in force; 0 when it cannot be read
// Threads  any; call it once at the start of each program that serves or connects to many peers
#pragma once

#include <cstdint>

namespace wattle {

std::uint64_t raise_descriptor_limit();

}  // namespace wattle
