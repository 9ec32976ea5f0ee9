#include "common/state_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace wattle {

Result<StateLock> StateLock::take(const std::string& folder) {
  std::string path = folder + "/lock";
  // Opens read-only, which is enough for the lock: after a restore by root the file may belong to root.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!fd.valid()) return fail_errno(errno, path);
  // Uses flock(), because a lock of fcntl() ends when the process closes any descriptor of the file.
  int done = 0;
  while ((done = ::flock(fd.get(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {
  }
  if (done != 0 && errno == EWOULDBLOCK)
    return fail(Errc::conflict, folder, "is in use by a running controller or wattle restore",
                "run systemctl stop wattle-controller, or wait for the restore to finish");
  if (done != 0) return fail_errno(errno, path);
  return StateLock(std::move(fd), std::move(path));
}

}  // namespace wattle
