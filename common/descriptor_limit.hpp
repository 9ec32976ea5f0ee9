// descriptor_limit: raises the soft limit of open files to the hard limit.
// Source   getrlimit(2), setrlimit(2) RLIMIT_NOFILE. containerd 2 and systemd start programs with a soft limit of
//          1,024, which protects programs that use select(2); ours do not
// Gives    the limit now in force; 0 if it cannot be read
// Threads  any; call it once at the start of each program that serves or connects to many peers
#pragma once

#include <cstdint>

namespace wattle {

std::uint64_t raise_descriptor_limit();

}  // namespace wattle
