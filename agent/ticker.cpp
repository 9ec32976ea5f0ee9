#include "agent/ticker.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace wattle::agent {

Result<Ticker> Ticker::start(Duration period) {
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return fail_errno(errno, "timerfd");
  Ticker ticker(std::move(timer));
  WATTLE_CHECK(ticker.set(period));
  return ticker;
}

Status Ticker::set(Duration period) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(period);
  itimerspec spec{};
  spec.it_interval.tv_sec = whole.count();
  spec.it_interval.tv_nsec = (period - whole).count();
  spec.it_value = spec.it_interval;  // the first tick is after one period; the kernel keeps later ones on the same grid
  if (::timerfd_settime(timer_.get(), 0, &spec, nullptr) != 0) return fail_errno(errno, "timerfd");
  period_ = period;
  return {};
}

std::uint64_t Ticker::due() {
  std::uint64_t expirations = 0;
  const ssize_t n = ::read(timer_.get(), &expirations, sizeof expirations);
  return n == sizeof expirations ? expirations : 0;
}

bool Ticker::wait(int stop_fd) {
  for (;;) {
    std::array<pollfd, 2> fds{{{timer_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), -1);
    if ((fds[1].revents & POLLIN) != 0) return false;
    if (due() > 0) return true;
  }
}

Result<Fd> stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno(errno, "signal mask");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "signalfd");
  return fd;
}

}  // namespace wattle::agent
