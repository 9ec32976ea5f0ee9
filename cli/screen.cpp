#include "cli/screen.hpp"

#include <poll.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace wattle::cli {

Result<StopKeys> StopKeys::open_() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) return fail_errno(error, "signals");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "signalfd");
  return StopKeys(std::move(fd));
}

bool StopKeys::pressed(std::chrono::milliseconds within) const {
  pollfd wait{fd_.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(within.count())) != 0;
}

}  // namespace wattle::cli
