// state_lock: one process at a time has what a controller keeps: the controller while it runs, or `wattle restore` while it replaces it.
// Source   the file `lock` of the folder, empty, which stays; the kernel's lock on it ends with who holds it, however that ends
// Errors   conflict: another has it; those of the folder and the file
// Threads  single owner
#pragma once

#include <string>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle {

class StateLock {
 public:
  // Of this folder, which is there. Does not wait.
  static Result<StateLock> take(const std::string& folder);
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  StateLock(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

}  // namespace wattle
