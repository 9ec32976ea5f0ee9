// hangup: SIGHUP of a service. Administrators send it to services that read their configuration again. Ours do not, and
// must not end: systemd takes an end by SIGHUP for a wanted one and does not start the service again.
// Threads  main thread, after the program has chosen its signals and before it starts threads
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace wattle {

// Ignores SIGHUP, unless the program has a terminal, whose end also ends the program.
inline void ignore_hangup_without_terminal() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) {
    ::close(terminal);
    return;
  }
  static_cast<void>(::signal(SIGHUP, SIG_IGN));
  // The kernel keeps a blocked signal, even an ignored one, for a signalfd.
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_UNBLOCK, &hangup, nullptr);
}

}  // namespace wattle
