// state_lock: exclusive access to a controller's state folder: for the controller while it runs, or for `wattle
// restore`.
// Source   the empty file `lock` in the folder, which stays there; the kernel drops its lock when the holder exits, for
//          any reason
// Errors   conflict: another process holds it; errors of the folder and the file
// Threads  single owner
#pragma once

#include <string>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle {

class StateLock {
 public:
  // Locks an existing folder. Does not block.
  static Result<StateLock> take(const std::string& folder);
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  StateLock(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

}  // namespace wattle
