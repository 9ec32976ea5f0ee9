#include "common/stop_signal.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace wattle {

namespace {

// Forwards a signal to the main thread, where signalfd waits for it. A math library may start threads before main that
// do not block the signals. Makes only async-signal-safe calls.
void pass_to_main_thread(int number) {
  const int saved = errno;
  const pid_t process = getpid();
  syscall(SYS_tgkill, process, process, number);
  errno = saved;
}

}  // namespace

Result<StopSignal> StopSignal::open_() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) return fail_errno(error, "sigmask");
  struct sigaction action {};
  action.sa_handler = pass_to_main_thread;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (sigaction(number, &action, nullptr) != 0) return fail_errno(errno, "sigaction");
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "signalfd");
  return StopSignal(std::move(fd));
}

bool StopSignal::pending() {
  signalfd_siginfo info{};
  if (!seen_ && read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) seen_ = true;
  return seen_;
}

bool StopSignal::wait(std::chrono::nanoseconds timeout) {
  if (pending()) return true;
  const auto left = std::max(timeout, std::chrono::nanoseconds(0));
  timespec span{};
  span.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  span.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  pollfd waiting{fd_.get(), POLLIN, 0};
  ppoll(&waiting, 1, &span, nullptr);
  return pending();
}

}  // namespace wattle
