// hangup: keeps a service running after SIGHUP, which administrators send to make services reread their configuration.
// Ours do not reread it, and systemd treats an exit by SIGHUP as intended and does not restart the service.
// Threads  main thread, after the program has chosen its signals and before it starts threads
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace wattle {

// Ignores SIGHUP unless the program has a terminal: closing the terminal must still end the program.
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
