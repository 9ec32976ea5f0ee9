// full_disk: makes every write to a file of this process fail while it lives, as a full disk does.
// Source   RLIMIT_FSIZE of 0: write() fails with EFBIG; reads, and files that are mapped already, go on
// Threads  the whole process is concerned: the test's alone
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
