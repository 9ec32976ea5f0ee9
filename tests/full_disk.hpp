// full_disk: makes every write of this process to a file fail during its lifetime, like a full disk.
// Source   RLIMIT_FSIZE of 0: write() fails with EFBIG; reads and mapped files are not affected
// Threads  affects the whole process, which must be only the test
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace wattle::tests {

class FullDisk {
 public:
  FullDisk() : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const struct rlimit none { 0, limit_.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*before_)(int);
  struct rlimit limit_ {};
};

}  // namespace wattle::tests
