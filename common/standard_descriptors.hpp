// standard_descriptors: keeps the numbers 0, 1 and 2 for standard input, output and error.
// Why      a program that is started with one of them closed (`>&-`) would get its number for a socket or a file of
//          state, and write its output there
// Errors   none: writing to one that was closed fails as before
// Threads  main thread, first call of the program
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace wattle {

inline void hold_standard_descriptors() {
  int fd = 0;
  while ((fd = ::open("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO) {
  }
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace wattle
